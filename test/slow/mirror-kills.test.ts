import { once } from 'node:events'
import { expect } from 'chai'
import { historyService, plainReading, type StoredMessage, storedAt } from '../support/handlers/history.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl, startBuilt } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { delayed, startScriptedServer } from '../support/scripted-server.ts'

describe('a sync that was killed', () => {
  const sandbox = perTest(createSandbox)

  it('leaves a mirror that can be searched, and that the next sync completes', async () => {
    const stored: StoredMessage[] = storedAt(Array.from({ length: 200 }, (_, minute) => minute))
    const history = historyService({ ...plainReading, largest: 10 }, stored)
    let onRequest = (_: number): void => {}
    await using server = await startScriptedServer({
      choose: (request, index) => {
        onRequest(index)
        return delayed(10, history.choose(request, index))
      },
    })
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key-for-kills' }
    for (const requests of [3, 1, 7, 12, 5]) {
      const from = server.requests.length
      const child = startBuilt(sandbox, ['history', 'sync'], { env })
      child.stdout?.resume()
      child.stderr?.resume()
      onRequest = (index) => {
        if (index - from === requests) child.kill('SIGKILL')
      }
      await once(child, 'close')
      const { exitCode, stderr } = await runChatctl(sandbox, ['history', 'search', 'text'], { env })
      expect(exitCode, stderr).to.equal(0)
      const later = storedAt(Array.from({ length: 7 }, (_, index) => 1000 + stored.length + index))
      stored.push(...later.map((message, index) => ({ ...message, id: `n${stored.length + index}` })))
    }
    onRequest = () => {}
    const synced = await runChatctl(sandbox, ['history', 'sync', '--json'], { env })
    expect(JSON.parse(synced.stdout).messages).to.equal(stored.length)
    const again = await runChatctl(sandbox, ['history', 'sync', '--full', '--json'], { env })
    expect(JSON.parse(again.stdout)).to.include({ messages: stored.length, added: 0, removed: 0 })
  })
})
