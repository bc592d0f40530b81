import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { systemClock } from '../../../src/system/clock.ts'

/** Begins to create users, 16 after each message from the parent, and replies with those that no other run has begun. */
const [path = '', lock] = process.argv.slice(2)

if (lock === 'unlocked') {
  const { exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
    if (!/IMMEDIATE|ROLLBACK/.test(sql)) exec.call(this, sql)
  }
}
const about = { command: 'users import', service: 'local' }
const run = new LedgerRun(new Ledger(path), about, systemClock)
process.send?.('ready')
for (let batch = 0; ; batch++) {
  const [message] = await once(process, 'message')
  if (message === 'end') break
  const claims = Array.from({ length: 16 }, async (_, index) => {
    const email = `user${16 * batch + index}@x.example`
    await run.begin(
      { method: 'POST', path: '/v1/users', endpoint: 'createUser', user: undefined, body: { email } },
      { file: undefined, size: 0 },
    )
    return email
  })
  const settled = await Promise.allSettled(claims)
  process.send?.(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
}
run.close()
process.disconnect()
