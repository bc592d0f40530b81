import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { startScriptedServer } from '../support/scripted-server.ts'

describe('chat send --stream if stdout is not read', () => {
  const sandbox = perSuite(createSandbox)
  it('reads no further from the service, and ends immediately on Ctrl-C', async () => {
    let written = 0
    let closed = false
    await using server = await startScriptedServer(async (_, response) => {
      response.on('close', () => {
        closed = true
      })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = `data: ${JSON.stringify({ delta: 'x'.repeat(60_000) })}\n\n`
      while (!closed) {
        written += event.length
        if (!response.write(event)) await new Promise((resolve) => response.once('drain', resolve))
      }
    })
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
    const child = startBuilt(sandbox, ['chat', 'send', 'x', '--stream'], { env })
    child.stdin?.end()
    while (written === 0) await sleep(20)
    await sleep(1000)
    const held = written
    await sleep(500)
    expect(written).to.equal(held)
    expect(written).to.be.below(16 * 1024 * 1024)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const interrupted = Date.now()
    child.kill('SIGINT')
    expect(await ended).to.equal(130)
    await sleep(100)
    expect(closed).to.equal(true)
    expect(Date.now() - interrupted).to.be.below(2000)
  })
})
