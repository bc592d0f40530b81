import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { compactLedger } from '../../../src/ledger/rewrite-ledger.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { SkippingClock } from '../../support/stepped-clock.ts'
import { takesAll } from '../../support/take-sample.ts'

const hour = 3_600_000
const roles = ['staff', 'admin', 'editor']
const role = fc.constantFrom(...roles)
const skew = fc.constantFrom(-hour, 0, hour)

/** `revert` restores the state file of an earlier apply, like Git. */
const action = fc.oneof(
  fc.record({ do: fc.constantFrom('apply here', 'apply elsewhere', 'assign here'), role, skew }),
  fc.record({ do: fc.constant('compact'), role, skew }),
  fc.record({ do: fc.constant('revert'), role, skew, back: fc.nat(3) }),
)

describe('the ledger and a state file that two machines share', function () {
  this.timeout(600_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ allowsDuplicates: true })))
  const path = (name: string) => join(sandbox.home, name)
  const state = () => path('users.state.json')
  const lastRole = (id: string) => server.report().assignments.get(id)?.at(-1)?.role

  it('never hide a difference, whatever the clocks say', async () => {
    let home = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 6 }), async (actions) => {
        home++
        const email = `user${home}@example.com`
        const generations: { content: Buffer; change: number }[] = []
        /** Numbers of changes: the last one in the state file, and the last one of all. */
        let [inFile, last, isOwn] = [0, 0, true]
        const noteChange = (isHere: boolean) => {
          const count = server.report().assignments.get(id())?.length ?? 0
          if (count > last) [last, isOwn] = [count, isHere]
          return count
        }
        for (const file of [state(), `${state()}.backup`]) rmSync(file, { force: true })
        const id = () => server.report().creates.get(email)?.ids[0] ?? ''
        const envOf = (machine: string) => ({ XDG_STATE_HOME: path(`${machine}-${home}`) })
        const run = async (machine: string, skew: number, ...words: string[]) => {
          const clock = new SkippingClock(Date.now() + skew)
          return runChatctl(sandbox, ['users', ...words], {
            service: server,
            env: envOf(machine),
            host: { clock },
          })
        }
        const apply = async (machine: string, wanted: string, skew: number) => {
          writeFileSync(path('users.csv'), `email,role\n${email},${wanted}\n`)
          const flags = ['users.csv', '--yes', '--no-password']
          const { exitCode, stderr } = await run(machine, skew, 'apply', ...flags)
          expect(exitCode, stderr).to.equal(0)
          const before = last
          if (noteChange(machine === 'here') > before) inFile = last
          generations.push({ content: readFileSync(state()), change: inFile })
        }
        await apply('here', 'staff', 0)
        for (const one of actions) {
          if (one.do === 'apply here') await apply('here', one.role, one.skew)
          if (one.do === 'apply elsewhere') await apply('elsewhere', one.role, one.skew)
          if (one.do === 'assign here') {
            await run('here', one.skew, 'permissions', 'assign', id(), '--role', one.role)
            noteChange(true)
          }
          if (one.do === 'revert' && 'back' in one) {
            const { content, change } = generations[Math.max(0, generations.length - 1 - one.back)] ?? {}
            writeFileSync(state(), content ?? '')
            inFile = change ?? 0
          }
          if (one.do === 'compact') {
            const env = { ...sandbox.env, ...envOf('here') }
            const ledger = Ledger.of(new Directories(env), server.url)
            expect(existsSync(ledger.path)).to.equal(true)
            compactLedger(ledger, 1)
          }
          // Nothing on this machine has a change from elsewhere that is not in the state file any more.
          if (!isOwn && inFile !== last) continue
          for (const wanted of roles) {
            if (wanted === lastRole(id())) continue
            writeFileSync(path('users.csv'), `email,role\n${email},${wanted}\n`)
            const { exitCode } = await run('here', one.skew, 'diff', 'users.csv', '--exit-code')
            expect(exitCode, `${wanted}, after ${lastRole(id())}`).to.equal(10)
          }
        }
        expect(server.report().creates.get(email)?.ids).to.have.lengthOf(1)
      }),
      { numRuns: takesAll ? 60 : 20 },
    )
  })
})
