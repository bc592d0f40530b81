import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { findAuthorizationServer } from '../../src/auth/authorization-server.ts'
import { exchangeCode } from '../../src/auth/token-endpoint.ts'
import { createTransport } from '../../src/auth/transport.ts'
import { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/system/clock.ts'
import { failureOf } from '../client/capture.ts'
import { type Behavior, type FaultServer, json, startFaultServer } from '../support/fault-server.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

/** Sends a response body for as long as the client reads it. */
const flood: Behavior = (_, response) => {
  const piece = Buffer.alloc(1024 * 1024, 'x')
  response.writeHead(200, { 'content-type': 'application/json' })
  const pour = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', pour)
  pour()
}

describe('when a response or a filter never ends', function () {
  this.timeout(60_000)
  let server: FaultServer
  afterEach(() => server.close())

  for (const method of ['GET', 'POST'] as const) {
    it(`a ${method} request fails after 256 MiB of the response`, async () => {
      server = await startFaultServer(flood)
      const client = new Client({ baseUrl: server.url, retries: 0 })
      const failure = await failureOf(
        method === 'GET' ? client.chat.models() : client.chat.send({ message: 'hi' }),
      )
      await client.close()
      expect(failure).to.include({
        kind: 'invalid_response',
        status: 200,
        isOutcomeUnknown: method !== 'GET',
      })
      expect(failure.message).to.equal(`The response from ${server.url} is longer than 256 MiB`)
    })
  }

  it('the discovery of an authorization server fails after 1 MiB of the response', async () => {
    server = await startFaultServer(flood)
    const transport = createTransport({ retries: 0, clock: systemClock })
    const failure = await failureOf(findAuthorizationServer(server.url, undefined, transport))
    expect(failure.message).to.equal(`The response from ${server.url} is longer than 1 MiB`)
  })

  it('a request to the token endpoint fails after 1 MiB of the response', async () => {
    server = await startFaultServer(flood)
    const transport = createTransport({ retries: 0, clock: systemClock })
    const endpoint = await findAuthorizationServer(server.url, `${server.url}/token`, transport)
    const redirectUri = 'http://127.0.0.1:1/callback'
    const exchange = { server: endpoint, clientId: 'c', redirectUri, verifier: undefined, scope: undefined }
    const failure = await failureOf(exchangeCode(exchange, 'c', transport, systemClock))
    expect(failure.message).to.equal(`The response from ${server.url} is longer than 1 MiB`)
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`${signal} ends a filter of --jq`, async function () {
      if (process.platform === 'win32') return this.skip()
      const sandbox = createSandbox()
      server = await startFaultServer(json(200, {}))
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'k' }
      const child = startBuilt(sandbox, ['settings', 'get', '--jq', 'def f: f; f'], { env })
      const closed = once(child, 'close')
      await sleep(2_000)
      expect(child.exitCode).to.equal(null)
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
      expect(await closed).to.deep.equal([null, signal])
      clearTimeout(timer)
      sandbox.remove()
    })
  }
})
