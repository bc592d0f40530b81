import fs, { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  json,
  type RecordedRequest,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { replacingCalls } from '../../system/replacing-calls.ts'

type Fate = 'done' | 'failed' | 'lost'

const fates: Record<Fate, Behavior> = {
  done: json(200, { id: 'm1', response: 'Hello', context_id: 'c1' }),
  failed: failing(422, 'refused', 'No'),
  lost: reset,
}

/** What a kill leaves: the results and the ledger, and the rows whose messages have arrived. */
interface Snapshot {
  files: Map<string, Buffer>
  arrived: readonly string[]
}

describe('a batch of messages that is killed between any two writes', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() =>
    startScriptedServer({
      choose: ({ method, body }: RecordedRequest) => {
        if (method === 'GET') return json(200, {})
        const row: string = JSON.parse(body).message
        arrived.push(row)
        return behave(row)
      },
    }),
  )
  let behave: (row: string) => Behavior
  let arrived: string[]

  beforeEach(() => {
    arrived = []
  })

  const path = (name: string) => join(sandbox.home, name)
  const kept = () => [
    ...(existsSync(path('out.jsonl')) ? [path('out.jsonl')] : []),
    ...globSync(path('.local/state/chatctl/state/ledger/*.jsonl')),
  ]
  const send = (...flags: string[]) =>
    runChatctl(
      sandbox,
      [
        'chat',
        'send',
        '{{n}}',
        '--each',
        'rows.csv',
        '--results',
        'out.jsonl',
        '--yes',
        '--no-stream',
        ...flags,
      ],
      { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' }, timeout: 50_000 },
    )
  /** The last line of each row. */
  const results = (): { index: number; status: string; row: { n: string } }[] => {
    const lines = readFileSync(path('out.jsonl'), 'utf8').split('\n').filter(Boolean)
    const found = lines.map((line) => JSON.parse(line))
    const last = new Map(found.map((result) => [result.index, result]))
    return [...last.values()].sort((one, other) => one.index - other.index)
  }

  function restore({ files }: Snapshot): void {
    for (const file of kept()) rmSync(file)
    for (const [file, content] of files) writeFileSync(file, content)
  }

  /** Runs the batch, and takes a snapshot after each write of the results or the ledger. */
  async function sendAndWatch(...flags: string[]): Promise<Snapshot[]> {
    const snapshots: Snapshot[] = []
    const { writeSync } = fs
    const watched = (...args: unknown[]) => {
      const written = Reflect.apply(writeSync, fs, args)
      const files = new Map(kept().map((file) => [file, readFileSync(file)]))
      snapshots.push({ files, arrived: [...arrived] })
      return written
    }
    await replacingCalls({ writeSync: watched }, () => send(...flags))
    return snapshots
  }

  it('flushes a reply to disk before it records the outcome', async () => {
    writeFileSync(path('rows.csv'), 'n\nrow 0\n')
    behave = () => fates.done
    const { fdatasync } = fs
    let ledgerAtReply: string | undefined
    const watched = (...args: unknown[]) => {
      if (existsSync(path('out.jsonl'))) {
        const [, ledger = ''] = kept()
        ledgerAtReply ??= readFileSync(ledger, 'utf8')
      }
      Reflect.apply(fdatasync, fs, args)
    }
    const done = await replacingCalls({ fdatasync: watched }, () => send())
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(ledgerAtReply).to.contain('"row":').and.not.to.contain('"did":')
  })

  it('sends each row at most once, and has one result for each row in the end', async () => {
    const rowFates = fc.array(fc.constantFrom<Fate>('done', 'done', 'done', 'failed', 'lost'), {
      minLength: 1,
      maxLength: 6,
    })
    const kills = fc.array(fc.record({ at: fc.nat(), torn: fc.nat(40) }), { minLength: 1, maxLength: 3 })
    const concurrency = fc.integer({ min: 1, max: 3 })
    await fc.assert(
      fc.asyncProperty(rowFates, kills, concurrency, async (rows, killed, workers) => {
        for (const file of kept()) rmSync(file)
        arrived = []
        writeFileSync(path('rows.csv'), `n\n${rows.map((_, index) => `row ${index}\n`).join('')}`)
        const fateOf = (row: string) => rows[Number(row.slice(4))] ?? 'done'
        behave = (row) => fates[fateOf(row)]
        const replied = new Set<string>()
        for (const { at, torn } of killed) {
          const snapshots = await sendAndWatch('--concurrency', String(workers))
          const snapshot = snapshots[at % Math.max(1, snapshots.length)]
          if (!snapshot) break
          restore(snapshot)
          arrived = [...snapshot.arrived]
          if (!existsSync(path('out.jsonl'))) continue
          for (const { status, row } of results()) if (status === 'done') replied.add(row.n)
          // A kill may leave a part of a line.
          fs.appendFileSync(path('out.jsonl'), '{"index":0,"status":"done","reply":"torn'.slice(0, torn))
        }
        const done = await send()
        expect(done.exitCode, done.stderr).to.be.oneOf([0, 9])
        const found = results()
        expect(found.map(({ index }) => index)).to.deep.equal(rows.map((_, index) => index))
        for (const { status, row } of found) {
          const count = arrived.filter((one) => one === row.n).length
          const fate = fateOf(row.n)
          // Only a refused row is sent again. A kill makes the outcome unknown, also before the message has arrived.
          if (fate !== 'failed') expect(count, row.n).to.be.at.most(1)
          expect(status, row.n).to.be.oneOf(fate === 'lost' ? ['unknown'] : [fate, 'unknown'])
          if (status === 'done') expect(count, row.n).to.equal(1)
          // No reply is lost.
          if (replied.has(row.n)) expect(status, row.n).to.equal('done')
        }
        // At most the requests in flight at each kill have an unknown outcome.
        const unknown = found.filter(({ status, row }) => status === 'unknown' && fateOf(row.n) !== 'lost')
        expect(unknown.length).to.be.at.most(killed.length * workers)
      }),
      { numRuns: 0.2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })
})
