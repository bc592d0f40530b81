import { appendFileSync, copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { Ledger, type LedgerEnd } from '../../src/ledger/ledger.ts'
import { LedgerRun } from '../../src/ledger/ledger-run.ts'
import { systemClock } from '../../src/system/clock.ts'
import { failureOf } from '../client/capture.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'

/** Of a ledger that was never read. */
const start = { file: undefined, size: 0 }
const emails = Array.from({ length: 20 }, (_, index) => `user${index}@x.example`)

describe('two runs that create the same users', () => {
  const sandbox = perTest(createSandbox)
  const ledger = () => new Ledger(join(sandbox.home, 'ledger.jsonl'))
  const runs = perTest(
    () =>
      Array.from({ length: 2 }, () => {
        const about = { command: 'users import', service: 'https://chat.example/' }
        return new LedgerRun(ledger(), about, systemClock)
      }) as [LedgerRun, LedgerRun],
    ([one, other]) => {
      one.close()
      other.close()
    },
  )
  const create = (run: LedgerRun, email = 'ada@x.example', known?: LedgerEnd) =>
    run.begin(
      { method: 'POST', path: '/v1/users', endpoint: 'createUser', user: undefined, body: { email } },
      known,
    )
  const expectClaimed = async (claim: Promise<unknown>) =>
    expect(await failureOf(claim)).to.include({ kind: 'conflict', code: 'claimed' })

  for (const known of [start, undefined])
    it(`begin each ${known ? 'once if they claim them' : 'twice without claims'}, also after torn lines`, async () => {
      const claims = runs.flatMap((run, index) =>
        (index === 0 ? emails : emails.toReversed()).map(async (email) => {
          appendFileSync(ledger().path, '{"email":"torn')
          await create(run, email, known)
        }),
      )
      const begun = (await Promise.allSettled(claims)).filter(({ status }) => status === 'fulfilled')
      expect(begun).to.have.lengthOf(known ? emails.length : 2 * emails.length)
    })

  it('do not begin one that the other has begun again after a 429', async () => {
    const [one, other] = runs
    const limit = async (email: string) => {
      const end = await create(one, email, start)
      end({ outcome: 'refused', status: 429 })
      await turn()
    }
    await limit('ada@x.example')
    await create(other, 'ada@x.example', start)
    await expectClaimed(create(one, 'ada@x.example', start))
    await limit('bob@x.example')
    const { end } = ledger()
    await create(one, 'bob@x.example', start)
    await expectClaimed(create(other, 'bob@x.example', end))
  })

  it('know a line that was incomplete when they read the ledger', async () => {
    const [one, other] = runs
    await create(one)
    const content = readFileSync(ledger().path)
    truncateSync(ledger().path, content.indexOf('"method"'))
    const { end } = ledger()
    writeFileSync(ledger().path, content)
    await expectClaimed(create(other, 'ada@x.example', end))
  })

  it('begin nothing after a rewrite since they read the ledger, whose offsets have changed', async () => {
    const [one, other] = runs
    await create(one)
    const { end } = ledger()
    renameSync(ledger().path, `${ledger().path}.old`)
    copyFileSync(`${ledger().path}.old`, ledger().path)
    expect(await failureOf(create(other, 'bob@x.example', end))).to.include({ kind: 'conflict' })
  })
})
