import { mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { countAcrossRuns, readSpentQuota } from '../../src/bulk/journal/spent-quota.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { SteppedClock } from '../support/stepped-clock.ts'

const service = 'https://chat.example/'
const hour = 3_600_000
const now = Date.UTC(2026, 0, 2, 12)

describe('the quota that earlier runs have used', () => {
  const directory = perTest(makeEmptyDirectory)

  /** Writes the requests of a run at these times. */
  function plant(name: string, times: readonly number[], of = service): void {
    const lines = times.map((at) => ({ service: of, at }))
    const path = join(directory.path, name)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, now / 1000, now / 1000)
  }
  const read = (window = hour) => readSpentQuota(directory.path, { service, window, now })

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
    symlinkSync(join(directory.path, 'nowhere'), join(directory.path, 'b.jsonl'))
    expect(read()).to.deep.equal({ since: now - 1000, requests: 1 })
  })

  it('is not kept for longer than the maximum window, also by runs without a quota', () => {
    const directories = new Directories({ XDG_STATE_HOME: directory.path })
    const quota = join(directories.state, 'quota')
    mkdirSync(quota, { recursive: true })
    plant(relative(directory.path, join(quota, 'old.jsonl')), [now - 1000])
    plant(relative(directory.path, join(quota, 'new.jsonl')), [now + hour])
    utimesSync(join(quota, 'new.jsonl'), (now + hour) / 1000, (now + hour) / 1000)
    const clock = new SteppedClock(() => 0, now + 24 * hour)
    const { onRequest } = countAcrossRuns({ directories, service, clock })
    onRequest?.()
    onRequest?.()
    expect(readdirSync(quota)).to.have.length(2).and.contain('new.jsonl')
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
          rmSync(join(directory.path, `${run}.jsonl`), { force: true })
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
