import { Ledger } from '../src/ledger/ledger.ts'

/** Prints the CPU time in ms to find a user in the ledger at a path. */
const [path = ''] = process.argv.slice(2)
const before = process.cpuUsage()
const { creation } = new Ledger(path).user('user50000@example.com')
const { user, system } = process.cpuUsage(before)
if (creation !== 'done') throw new Error('The user was not found')
process.stdout.write(String((user + system) / 1000))
