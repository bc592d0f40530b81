import { Ledger } from '../src/ledger/ledger.ts'

/** Prints the CPU time in ms to ask the ledger at a path about an email, or about an ID. */
const [path = '', about] = process.argv.slice(2)
const ledger = new Ledger(path)
const before = process.cpuUsage()
const isFound =
  about === 'email'
    ? ledger.changesWith('user50000@example.com')[0]?.outcome === 'done'
    : ledger.emailOf('usr_50000') === 'user50000@example.com'
const { user, system } = process.cpuUsage(before)
if (!isFound) throw new Error('The user was not found')
process.stdout.write(String((user + system) / 1000))
