import type { ChildProcess } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { beforeWalk } from '../../src/client/history-position.ts'
import type { HistoryMessage } from '../../src/contract/conversation.ts'
import { Spill } from '../../src/export/spill.ts'
import { writeDocument } from '../../src/export/write-document.ts'
import { delayed, type FaultServer, startFaultServer } from '../support/fault-server.ts'
import {
  type HistoryReading,
  historyService,
  plainReading,
  type StoredMessage,
  storedAt,
} from '../support/history-service.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { exportEnvironment, idsOf, readLines, runExport } from './export-run.ts'

const readings: [string, HistoryReading][] = [
  ['ids, oldest first', { ...plainReading, largest: 10 }],
  [
    'times, newest first',
    { ...plainReading, order: 'newest', cursor: 'created_at', before: 'time', unknown: 'same', largest: 10 },
  ],
  ['ids, without has_more', { ...plainReading, before: 'row itself', hasMore: 'missing', largest: 10 }],
]

describe('an export that was killed', function () {
  this.timeout(120_000)
  let sandbox: Sandbox
  let server: FaultServer
  /** What the service has; what a test adds is new to the next run. */
  let stored: StoredMessage[]
  /** Is told of each request before it is answered. */
  let onRequest: (index: number) => void
  beforeEach(() => {
    sandbox = createSandbox()
    stored = storedAt(Array.from({ length: 100 }, (_, index) => Math.floor(index / 2)))
    onRequest = () => {}
  })
  afterEach(async () => {
    await server.close()
    sandbox.remove()
  })

  async function serve(reading: HistoryReading): Promise<void> {
    const service = historyService(reading, stored)
    server = await startFaultServer({
      choose: (request, index) => {
        onRequest(index)
        return delayed(20, service.choose(request, index))
      },
    })
  }

  /** Runs until so many requests have come, then ends it by that signal. */
  async function runUntil(
    requests: number,
    signal: NodeJS.Signals,
  ): Promise<{ code: number | null; stderr: string }> {
    let child: ChildProcess | undefined
    const from = server.requests.length
    onRequest = (index) => {
      if (index - from === requests) child?.kill(signal)
    }
    child = startBuilt(sandbox, ['history', 'export'], { env: exportEnvironment(server.url) })
    let stderr = ''
    child.stdout?.resume()
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    onRequest = () => {}
    return { code, stderr }
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
    for (const requests of [1, 2, 5, 9]) {
      it(`goes on from its last whole page: ${name}, after ${requests}`, async () => {
        await serve(reading)
        expect((await runUntil(requests, 'SIGKILL')).code).to.equal(null)
        addNew(25)
        const asked = await expectWhole()
        // What was fetched once is not fetched again, but for the page at the border.
        if (requests > 5) expect(asked).to.be.below(13)
      })
    }
  }

  it('goes on however often it is killed, and what is new meanwhile is there', async () => {
    await serve(readings[0]?.[1] ?? plainReading)
    for (const requests of [4, 2, 3, 2, 1]) {
      await runUntil(requests, 'SIGKILL')
      addNew(30)
    }
    await expectWhole()
    expect(readdirSync(join(sandbox.home, '.local/state/chatctl/state/exports'))).to.deep.equal([])
  })

  it('is gone on from after Ctrl-C, which says so', async () => {
    await serve(plainReading)
    stored.unshift(
      ...storedAt(Array(400).fill(0)).map((message, index) => ({
        ...message,
        id: `o${index}`,
        created_at: new Date(Date.UTC(2025, 0, 1, 0, index)).toISOString(),
      })),
    )
    const { code, stderr } = await runUntil(3, 'SIGINT')
    expect(code).to.equal(130)
    expect(stderr).to.match(/^\d+ messages kept: the same command goes on from there\.$/m)
    await expectWhole()
  })

  it('counts what it writes, not what an earlier run had of before --since', async () => {
    await serve(plainReading)
    const spill = new Spill(sandbox.home)
    spill.append(0, storedAt([0, 1, 2]) as HistoryMessage[], beforeWalk)
    spill.endPart(0, 'ended')
    const written = await writeDocument({
      format: 'jsonl',
      spill,
      context: undefined,
      since: Date.UTC(2026, 0, 1, 0, 2),
      write: async () => {},
      onWritten: () => {},
      signal: new AbortController().signal,
    })
    spill.close()
    expect(written).to.equal(1)
  })

  it('takes only pages that are whole on disk', async () => {
    for (const damage of [cutPages, cutIndex, spoilPages]) {
      sandbox.remove()
      sandbox = createSandbox()
      await server?.close()
      await serve(readings[0]?.[1] ?? plainReading)
      await runUntil(5, 'SIGKILL')
      const all = join(sandbox.home, '.local/state/chatctl/state/exports')
      damage(join(all, readdirSync(all)[0] ?? ''))
      await expectWhole()
    }
  })
})

function cutPages(folder: string): void {
  const path = join(folder, 'pages')
  truncateSync(path, readFileSync(path).length - 10)
}

function cutIndex(folder: string): void {
  const path = join(folder, 'index')
  truncateSync(path, readFileSync(path).length - 10)
  appendFileSync(join(folder, 'pages'), '{"half":')
}

function spoilPages(folder: string): void {
  const path = join(folder, 'pages')
  const bytes = readFileSync(path)
  bytes.fill(0, bytes.length - 50)
  writeFileSync(path, bytes)
}
