import { appendFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readSpentQuota } from '../../../src/users/journal/spent-quota.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

const service = 'https://chat.example/'
const hour = 3_600_000
const now = Date.UTC(2026, 0, 2, 12)

describe('the quota that earlier runs have used', () => {
  const directory = perTest(makeEmptyDirectory)

  /** Writes a journal with requests at these times. A journal that was last written before the window is not read. */
  function plant(name: string, times: readonly number[], of = service, writtenAt = Math.max(...times)): void {
    const header = { v: 1, type: 'import', kind: 'users', service: of, input: {}, at: '' }
    const lines = [
      header,
      ...times.map((at, row) => ({ row, step: 'create', at })),
      { row: 0, step: 'create', did: 'took' },
    ]
    const path = join(directory.path, name)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, writtenAt / 1000, writtenAt / 1000)
  }
  const read = (window = hour) => readSpentQuota(directory.path, { service, window, now })

  it('includes all journals of the service, and replaced ones, in the current window', async () => {
    plant('a.jsonl', [now - 3 * hour, now - hour / 2, now - 1000])
    plant('b.jsonl.old', [now - hour / 4])
    plant('c.jsonl', [now - 2000], 'https://other.example/')
    plant('d.jsonl.lock', [now - 2000])
    expect(await read()).to.deep.equal({ since: now - hour / 2, requests: 3 })
    expect(await read(hour / 3)).to.deep.equal({ since: now - 1000, requests: 1 })
    expect(await read(500)).to.equal(undefined)
  })

  it('does not include a journal that another import removes at the same time', async () => {
    plant('a.jsonl', [now - 1000])
    symlinkSync(join(directory.path, 'nowhere'), join(directory.path, 'b.jsonl'))
    expect(await read()).to.deep.equal({ since: now - 1000, requests: 1 })
  })

  it('counts from the window that the service has reported', async () => {
    plant('a.jsonl', [now - 70 * 60_000, now - 65 * 60_000, now - 5000])
    const named = (length: number) => ({
      ...{ type: 'window', at: now - 66 * 60_000, length, since: now - 110 * 60_000, requests: 1 },
    })
    appendFileSync(join(directory.path, 'a.jsonl'), `${JSON.stringify(named(hour))}\n`)
    expect(await read()).to.deep.equal({ since: now - 5000, requests: 1 })
    expect(await read(2 * hour)).to.deep.equal({ since: now - 70 * 60_000, requests: 3 })
  })

  it('is the same however the requests are distributed over journals', async () => {
    const requests = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 5 * hour })), {
      minLength: 1,
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        for (const journal of [0, 1, 2, 3]) {
          const times = all.filter(([of]) => of === journal).map(([, ago]) => now - ago)
          rmSync(join(directory.path, `${journal}.jsonl`), { force: true })
          if (times.length > 0) plant(`${journal}.jsonl`, times, service, now)
        }
        let window: { since: number; requests: number } | undefined
        for (const at of all.map(([, ago]) => now - ago).sort((one, other) => one - other)) {
          if (window && at < window.since + hour) window.requests++
          else window = { since: at, requests: 1 }
        }
        const open = window && window.since + hour > now ? window : undefined
        expect(await read()).to.deep.equal(open)
      }),
      { numRuns: 60 },
    )
  })
})
