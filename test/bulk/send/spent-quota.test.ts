import { mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { runRows } from '../../../src/bulk/send/concurrency.ts'
import { SpentQuota } from '../../../src/bulk/send/spent-quota.ts'
import { Throttle } from '../../../src/bulk/send/throttle.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

const service = 'https://chat.example/'
const hour = 3_600_000
const now = Date.UTC(2026, 0, 2, 12)

describe('the quota that earlier runs have used', () => {
  const home = perTest(makeEmptyDirectory)
  const directories = () => new Directories({ XDG_STATE_HOME: home.path })
  const directory = () => join(directories().state, 'quota')

  /** Writes the requests of a run at these times. */
  function plant(name: string, times: readonly number[], of = service): void {
    mkdirSync(directory(), { recursive: true })
    const lines = times.map((at) => ({ service: of, at }))
    const path = join(directory(), name)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, now / 1000, now / 1000)
  }

  /** A run with a quota of 100 requests in this window that begins now. */
  function begin(window = hour, clock = new SteppedClock(() => 0, now)): Throttle {
    const spent = new SpentQuota({ directories: directories(), service, clock })
    const { signal } = new AbortController()
    return new Throttle({ clock, maxWait: 0, signal, quota: { requests: 100, window }, spent })
  }
  const read = (window = hour) => {
    const { remaining = 0, reset } = begin(window).known ?? {}
    return reset && { since: now + reset - window, requests: 100 - remaining }
  }

  it('is not exceeded by runs at the same time', async () => {
    const { signal } = new AbortController()
    let sent = 0
    const send = async () => void sent++
    const runs = [begin(), begin()].map((throttle) =>
      runRows(Array(80), { concurrency: 8, signal }, () => throttle.through(send)),
    )
    const ended = await Promise.all(runs)
    expect(sent).to.equal(100)
    expect(ended.map((error) => Object(error).kind)).to.include('rate_limited')
    expect(begin().known).to.include({ remaining: 0 })
  })

  it('includes all runs to the service in the current window', () => {
    plant('a.jsonl', [now - 3 * hour, now - hour / 2, now - 1000])
    plant('b.jsonl', [now - hour / 4])
    plant('c.jsonl', [now - 2000], 'https://other.example/')
    expect(read()).to.deep.equal({ since: now - hour / 2, requests: 3 })
    expect(read(hour / 3)).to.deep.equal({ since: now - 1000, requests: 1 })
    expect(read(500)).to.equal(undefined)
  })

  it('does not include a run whose record another run removes at the same time', () => {
    plant('a.jsonl', [now - 1000])
    symlinkSync(join(directory(), 'nowhere'), join(directory(), 'b.jsonl'))
    expect(read()).to.deep.equal({ since: now - 1000, requests: 1 })
  })

  it('is not kept for longer than the maximum window, also by runs without a quota', () => {
    plant('old.jsonl', [now - 1000])
    plant('new.jsonl', [now + hour])
    utimesSync(join(directory(), 'new.jsonl'), (now + hour) / 1000, (now + hour) / 1000)
    const clock = new SteppedClock(() => 0, now + 24 * hour)
    const spent = new SpentQuota({ directories: directories(), service, clock })
    spent.add()
    spent.add()
    expect(readdirSync(directory())).to.have.length(2).and.contain('new.jsonl')
  })

  it('is the same however the requests are distributed over runs', () => {
    const requests = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 5 * hour })), {
      minLength: 1,
      maxLength: 40,
    })
    fc.assert(
      fc.property(requests, (all) => {
        for (const run of [0, 1, 2, 3]) {
          const times = all.filter(([of]) => of === run).map(([, ago]) => now - ago)
          rmSync(join(directory(), `${run}.jsonl`), { force: true })
          if (times.length > 0) plant(`${run}.jsonl`, times)
        }
        let window: { since: number; requests: number } | undefined
        for (const at of all.map(([, ago]) => now - ago).sort((one, other) => one - other)) {
          if (window && at < window.since + hour) window.requests++
          else window = { since: at, requests: 1 }
        }
        const open = window && window.since + hour > now ? window : undefined
        expect(read()).to.deep.equal(open)
      }),
      { numRuns: 60 },
    )
  })
})
