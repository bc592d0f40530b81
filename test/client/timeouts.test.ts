import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { hintOf } from '../../src/cli/hints.ts'
import { Client } from '../../src/client/client.ts'
import { delayed, json, silent, sse, stream } from '../support/fault-server.ts'
import { perTest } from '../support/lifetime.ts'
import { failureOf, reasonOf } from './capture.ts'
import { scriptedClient } from './scripted-client.ts'

describe('timeouts and aborts', () => {
  const { server, client, start } = scriptedClient(() => ({ retries: 0 }))

  it('bound the wait for the head of an answer', async () => {
    await start(silent, { timeout: 80 })
    const failure = await failureOf(client.settings.get())
    expect(failure.kind).to.equal('timeout')
    expect(failure.message).to.equal(`No response from ${server.url} within 80 ms`)
  })

  it('bound the wait for the whole body', async () => {
    await start(stream(['{', ' ', ' ', ' ', ' ', '}'], { pause: 60 }), { timeout: 150 })
    expect((await failureOf(client.settings.get())).kind).to.equal('timeout')
  })

  it('bound each attempt alone', async () => {
    await start([silent, delayed(60, json(200, {}))], { timeout: 100, retries: 1 })
    expect((await client.settings.get()).status).to.equal(200)
  })

  for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31, 1e12]) {
    it(`bound nothing in this life at ${ms} ms`, async () => {
      await start([delayed(50, json(200, {})), sse([{ delta: 'a' }], { pause: 30 })], {
        timeout: ms,
        idleTimeout: ms,
        connectTimeout: ms,
      })
      expect((await client.settings.get()).status).to.equal(200)
      const events: string[] = []
      for await (const event of await client.chat.stream({ message: 'hi' })) events.push(event.type)
      expect(events).to.deep.equal(['start', 'delta', 'end'])
    })
  }

  it('do not bite when the answer comes in time', async () => {
    await start(delayed(50, json(200, {})), { timeout: 500 })
    expect((await client.settings.get()).status).to.equal(200)
  })

  describe('of a connection', () => {
    const mute = perTest(() => createServer((socket) => socket.on('error', () => undefined)))

    beforeEach(async () => {
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    })

    it('include the TLS handshake', async () => {
      await start(silent)
      const { port } = mute.address() as AddressInfo
      const options = { baseUrl: `https://127.0.0.1:${port}`, retries: 0 }
      const hasty = new Client({ ...options, connectTimeout: 80 })
      const failure = await failureOf(hasty.users.create({}))
      expect(failure.kind).to.equal('timeout')
      expect(failure.message).to.match(/^Cannot reach https:\/\/127\.0\.0\.1:\d+: connection timed out$/)
      expect(hintOf(failure)).to.equal(undefined)
      await hasty.close()
    })

    it('can be aborted at once', async () => {
      await start(silent)
      const { port } = mute.address() as AddressInfo
      const controller = new AbortController()
      const other = new Client({
        baseUrl: `https://127.0.0.1:${port}`,
        connectTimeout: 60_000,
        signal: controller.signal,
      })
      setTimeout(() => controller.abort(new Error('stop')), 30)
      expect(await reasonOf(other.settings.get())).to.equal(controller.signal.reason)
      await other.close()
    })
  })

  it('an abort ends a request with its own reason and closes the connection', async () => {
    const controller = new AbortController()
    let closed: () => void = () => undefined
    const gone = new Promise<void>((resolve) => {
      closed = resolve
    })
    await start(
      (_, __, incoming) => {
        incoming.socket.on('close', closed)
        controller.abort(new Error('stop'))
      },
      { signal: controller.signal },
    )
    expect(await reasonOf(client.settings.get())).to.equal(controller.signal.reason)
    await gone
    expect(server.requests).to.have.lengthOf(1)
  })

  it('an abort of one request leaves the others alone', async () => {
    await start({ choose: (request) => (request.path === '/slow' ? silent : json(200, {})) })
    const controller = new AbortController()
    const slow = reasonOf(client.send({ method: 'GET', path: '/slow', signal: controller.signal }))
    const quick = client.settings.get()
    controller.abort('enough')
    expect(await slow).to.equal('enough')
    expect((await quick).status).to.equal(200)
  })

  it('an abort before the start lets nothing leave', async () => {
    await start(json(200, {}), { signal: AbortSignal.abort('early') })
    expect(await reasonOf(client.settings.get())).to.equal('early')
    expect(server.requests).to.have.lengthOf(0)
  })

  it('close ends what is under way', async () => {
    await start(silent)
    const pending = failureOf(client.settings.get())
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await client.close()
    expect((await pending).kind).to.equal('unreachable')
  })
})
