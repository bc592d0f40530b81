import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  type HistoryReading,
  historyService,
  plainReading,
  type StoredMessage,
  storedAt,
} from '../support/handlers/history.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { delayed, startScriptedServer } from '../support/scripted-server.ts'
import { idsOf, readLines, runExport } from './export-run.ts'

const readings: [string, HistoryReading][] = [
  ['ids, oldest first', { ...plainReading, largest: 10 }],
  [
    'times, newest first',
    { ...plainReading, order: 'newest', cursor: 'created_at', before: 'time', unknown: 'same', largest: 10 },
  ],
  ['ids, without has_more', { ...plainReading, before: 'row itself', hasMore: 'missing', largest: 10 }],
]

/**
 * Declares the tests of an export that ended early and is resumed.
 *
 * @param start starts the export; `end` ends it
 * @param code the exit code of the ended export
 * @param places after how many requests it ends
 */
export function testResume(
  title: string,
  start: (sandbox: Sandbox, url: string) => { end(): void; ended: Promise<number | null> },
  code: number | null,
  places: readonly number[] = [1, 2, 5, 9],
): void {
  describe(title, function () {
    this.timeout(120_000)
    const sandbox = perTest(createSandbox)
    const server = perTest(startScriptedServer)
    /** The messages of the service. Those that a test adds are new to the next run. */
    let stored: StoredMessage[]
    /** Called with the number of each request before it is answered. */
    let onRequest: (index: number) => void
    beforeEach(() => {
      stored = storedAt(Array.from({ length: 100 }, (_, index) => Math.floor(index / 2)))
      onRequest = () => {}
    })

    async function serve(reading: HistoryReading): Promise<void> {
      const service = historyService(reading, stored)
      await server.serve({
        choose: (request, index) => {
          onRequest(index)
          return delayed(20, service.choose(request, index))
        },
      })
    }

    /** Runs the export until this many requests have arrived, and then ends it. */
    async function runUntil(requests: number): Promise<number | null> {
      let running: ReturnType<typeof start> | undefined
      const from = server.requests.length
      onRequest = (index) => {
        if (index - from === requests) running?.end()
      }
      running = start(sandbox, server.url)
      const exitCode = await running.ended
      onRequest = () => {}
      return exitCode
    }

    function addNew(count: number): void {
      const later = storedAt(Array.from({ length: count }, (_, index) => 1000 + stored.length + index))
      stored.push(...later.map((message, index) => ({ ...message, id: `n${stored.length + index}` })))
    }

    async function expectWhole(): Promise<number> {
      const from = server.requests.length
      const run = await runExport(sandbox, server.url)
      expect(run.exitCode, run.stderr).to.equal(0)
      expect(idsOf(readLines(run.stdout))).to.deep.equal(idsOf(stored))
      return server.requests.length - from
    }

    for (const [name, reading] of readings) {
      for (const requests of places) {
        it(`resumes from the last complete page: ${name}, after ${requests} requests`, async () => {
          await serve(reading)
          expect(await runUntil(requests)).to.equal(code)
          addNew(25)
          const asked = await expectWhole()
          // Nothing is fetched twice, except the page at the border.
          if (requests > 5) expect(asked).to.be.below(13)
        })
      }
    }

    it('resumes however often it ends early, and includes messages that were added', async () => {
      await serve(readings[0]?.[1] ?? plainReading)
      for (const requests of [4, 2, 3, 2, 1]) {
        await runUntil(requests)
        addNew(30)
      }
      await expectWhole()
      expect(readdirSync(join(sandbox.home, '.local/state/chatctl/state/exports'))).to.deep.equal([])
    })
  })
}
