import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { Client } from '../../src/client/client.ts'
import { perTest } from '../support/lifetime.ts'
import { delayed, json, silent, sse, stream } from '../support/scripted-server.ts'
import { until } from '../support/until.ts'
import { failureOf, reasonOf } from './capture.ts'
import { heldTimeout, holdTimers } from './hold-timers.ts'
import { scriptedClient } from './scripted-client.ts'

describe('a request with a timeout or an abort signal', () => {
  const { server, client, start } = scriptedClient(() => ({ retries: 0 }))
  const held = holdTimers(heldTimeout)

  it('fails if the response headers do not arrive within the timeout', async () => {
    await start(silent, { timeout: heldTimeout })
    const failing = failureOf(client.settings.get())
    await until(() => server.requests.length === 1)
    held.fire()
    const failure = await failing
    expect(failure.kind).to.equal('timeout')
    expect(failure.message).to.equal(`No response from ${server.url} within 77 s`)
  })

  it('fails if the whole response body does not arrive within the timeout', async () => {
    await start(stream(['{', ' ', ' ', ' ', ' ', '}'], { pause: 60 }), { timeout: 150 })
    expect((await failureOf(client.settings.get())).kind).to.equal('timeout')
  })

  it('applies the timeout to each attempt separately', async () => {
    await start([silent, json(200, {})], { timeout: heldTimeout, retries: 1 })
    const response = client.settings.get()
    await until(() => server.requests.length === 1)
    held.fire()
    expect((await response).status).to.equal(200)
    expect(held.started).to.equal(2)
  })

  for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31, 1e12]) {
    it(`succeeds with a timeout of ${ms} ms`, async () => {
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

  describe('when the connection is not established', () => {
    const mute = perTest(() => createServer((socket) => socket.on('error', () => undefined)))

    beforeEach(async () => {
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    })

    it('fails if the TLS handshake exceeds the connect timeout', async () => {
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

    it('ends immediately when it is aborted', async () => {
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

  it('rejects with the reason of an abort, and closes the connection', async () => {
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

  it('continues if another request is aborted', async () => {
    await start({ choose: (request) => (request.path === '/slow' ? silent : json(200, {})) })
    const controller = new AbortController()
    const slow = reasonOf(client.send({ method: 'GET', path: '/slow', signal: controller.signal }))
    const quick = client.settings.get()
    controller.abort('enough')
    expect(await slow).to.equal('enough')
    expect((await quick).status).to.equal(200)
  })

  it('is not sent if the signal is already aborted', async () => {
    await start(json(200, {}), { signal: AbortSignal.abort('early') })
    expect(await reasonOf(client.settings.get())).to.equal('early')
    expect(server.requests).to.have.lengthOf(0)
  })

  it('fails if the client is closed', async () => {
    await start(silent)
    const pending = failureOf(client.settings.get())
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await client.close()
    expect((await pending).kind).to.equal('unreachable')
  })
})
