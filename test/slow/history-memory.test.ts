import { spawn } from 'node:child_process'
import { expect } from 'chai'
import { exportEnvironment } from '../history/export-run.ts'
import { historyService, plainReading, storedAt } from '../support/handlers/history.ts'
import { watchPeakMemory } from '../support/peak-memory.ts'
import { binary } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { startScriptedServer } from '../support/scripted-server.ts'
import { takesAll } from '../support/take-sample.ts'

const text = 'some words that a message may hold. '.repeat(25)
const [few, many] = [25_000, 100_000]
/** In bytes: two thirds of the text alone that a run with more messages reads, so that it cannot hold all of it. */
const bound = ((many - few) * text.length * 2) / 3

describe('the memory of history export and history sync', function () {
  this.timeout(300_000)
  before(function () {
    // Memory is read from /proc, and the test takes long.
    if (!takesAll || process.platform !== 'linux') this.skip()
  })

  async function peakOf(command: string, messages: number): Promise<number> {
    const stored = storedAt(Array.from({ length: messages }, (_, index) => index)).map((message) => ({
      ...message,
      content: `${message.content} ${text}`,
    }))
    const positions = new Map(stored.map(({ id }, index) => [id, index]))
    await using server = await startScriptedServer({
      choose: (request, index) => {
        const before = new URL(request.path, 'http://x').searchParams.get('before') ?? undefined
        const end = before === undefined ? stored.length : (positions.get(before) ?? 0)
        const page = stored.slice(Math.max(0, end - 101), end)
        return historyService(plainReading, page).choose({ path: '/?limit=100' }, index)
      },
    })
    using sandbox = createSandbox()
    const child = spawn(process.execPath, [binary, 'history', command, '--quiet'], {
      env: { ...sandbox.env, ...exportEnvironment(server.url) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const { exitCode, peak } = await watchPeakMemory(child)
    expect(exitCode).to.equal(0)
    return peak
  }

  for (const command of ['export', 'sync']) {
    it(`does not grow with the number of messages: ${command}`, async () => {
      const [low, high] = [await peakOf(command, few), await peakOf(command, many)]
      expect(low).to.be.above(0)
      expect(high - low).to.be.below(bound)
    })
  }
})
