import { expect } from 'chai'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { Client } from '../../src/client/client.ts'
import type { ClientEvent } from '../../src/client/client-event.ts'
import { closing } from '../support/lifetime.ts'
import {
  type Behavior,
  deadUrl,
  failing,
  hangUp,
  html502,
  json,
  limited,
  reset,
  resetMidBody,
  shortBody,
  silent,
  startScriptedServer,
} from '../support/scripted-server.ts'
import { until } from '../support/until.ts'
import { failureOf, hurriedClock, reasonOf } from './capture.ts'
import { heldTimeout, holdTimers } from './hold-timers.ts'
import { scriptedClient } from './scripted-client.ts'

const okay = json(200, { success: true })

describe('a failed request', () => {
  let clock: ReturnType<typeof hurriedClock>
  let events: ClientEvent[]
  let { server, client, start } = scriptedClient(() => {
    clock = hurriedClock()
    events = []
    return { internal: { clock }, observe: (event) => events.push(event) }
  })
  const held = holdTimers(heldTimeout)

  const faults: [string, Behavior, string][] = [
    ['a reset connection', reset, 'unreachable'],
    ['a closed connection', hangUp, 'unreachable'],
    ['a reset in the middle of the body', resetMidBody(), 'truncated'],
    ['a body that is too short', shortBody(), 'truncated'],
    ['502 with a web page', html502, 'server_error'],
    ['500', failing(500, 'internal', 'Oops'), 'server_error'],
    ['503', failing(503, 'down', 'Down'), 'server_error'],
  ]
  for (const [what, fault, kind] of faults) {
    for (const method of ['POST', 'PATCH', 'DELETE'])
      it(`is never sent again if it is a ${method}, after ${what}`, async () => {
        await start(fault)
        const sent = client.send({ method, path: '/v1/anything', body: '{}' })
        // `send` returns a response of any status.
        if (kind === 'server_error') expect((await sent).status).to.be.at.least(500)
        else expect((await failureOf(sent)).kind).to.equal(kind)
        expect(server.requests).to.have.lengthOf(1)
        expect(clock.waits).to.deep.equal([])
      })

    for (const method of ['GET', 'PUT'])
      it(`is sent twice more if it is a ${method}, after ${what}`, async () => {
        await start(fault)
        await client.send({ method, path: '/v1/anything' }).catch(() => undefined)
        expect(server.requests).to.have.lengthOf(3)
      })

    it(`succeeds on the next attempt after ${what}`, async () => {
      await start([fault, okay])
      expect((await client.users.updateSettings({ theme: 'dark' })).body).to.deep.equal({ success: true })
      expect(server.requests.map((request) => request.body)).to.deep.equal([
        '{"theme":"dark"}',
        '{"theme":"dark"}',
      ])
      expect(events.filter((event) => event.type === 'retry')).to.have.lengthOf(1)
    })
  }

  it('is never sent again if it is a POST that timed out, whose outcome is unknown', async () => {
    await start(silent, { timeout: heldTimeout })
    const failing = failureOf(client.users.create({ email: 'a@example.com' }))
    await until(() => server.requests.length === 1)
    held.fire()
    const failure = await failing
    expect(failure.kind).to.equal('timeout')
    expect(hintOf(failure)).to.match(/may have taken effect/)
    expect(server.requests).to.have.lengthOf(1)
  })

  it('is sent again after an exponential delay with full jitter', async () => {
    await start(reset, { retries: 4 })
    await failureOf(client.settings.get())
    expect(clock.waits).to.deep.equal([125, 250, 500, 1000])
    expect(server.requests).to.have.lengthOf(5)
  })

  it('is not sent again if retries is 0', async () => {
    await start(reset, { retries: 0 })
    await failureOf(client.settings.get())
    expect(server.requests).to.have.lengthOf(1)
  })

  it('is not sent again after a 4xx', async () => {
    await start(failing(400, 'bad', 'Bad'))
    expect((await failureOf(client.settings.get())).kind).to.equal('rejected')
    expect(server.requests).to.have.lengthOf(1)
  })

  it('is sent again for every method if no connection was made, since nothing was sent', async () => {
    await start(silent)
    await using dead = closing(new Client({ baseUrl: await deadUrl(), internal: { clock } }))
    const failure = await failureOf(dead.users.create({ email: 'a@example.com' }))
    expect(failure.kind).to.equal('unreachable')
    expect(failure.message).to.match(/^Cannot reach http:\/\/127\.0\.0\.1:\d+: connection refused$/)
    expect(hintOf(failure)).to.match(/^Check the base URL\. If it is the embedded service, start it with: /)
    expect(clock.waits).to.have.lengthOf(2)
  })

  it('is not sent again if the host name is unknown', async () => {
    await start(silent)
    await using lost = closing(new Client({ baseUrl: 'https://no-such-host.invalid', internal: { clock } }))
    const failure = await failureOf(lost.settings.get())
    // A resolver that is unreachable itself fails with EAI_AGAIN, which may be temporary.
    if (/no such host/.test(failure.message)) expect(clock.waits).to.deep.equal([])
    expect(failure.kind).to.equal('unreachable')
  })

  describe('with a rate limit', () => {
    for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'])
      it(`waits and is sent again if it is a ${method}, whatever retries is`, async () => {
        await start([limited({ 'retry-after': '7' }), limited({ 'retry-after': '5' }), okay], { retries: 0 })
        expect((await client.send({ method, path: '/x' })).status).to.equal(200)
        expect(clock.waits).to.deep.equal([7000, 5000])
        const waits = events.filter((event) => event.type === 'wait')
        expect(waits.map((event) => event.after)).to.deep.equal([7000, 5000])
      })

    it('waits as long as the RateLimit header says', async () => {
      await start([limited({ ratelimit: '"hour";r=0;t=9' }), okay])
      await client.users.create({})
      expect(clock.waits).to.deep.equal([9000])
    })

    it('fails immediately if the wait exceeds the remaining time, and says when to try again', async () => {
      await start([limited({ 'retry-after': '40' }), limited({ 'retry-after': '1800' })], { maxWait: 60_000 })
      const failure = await failureOf(client.chat.send({ message: 'hi' }))
      expect(failure).to.include({ kind: 'rate_limited', status: 429, code: 'rate_limit_exceeded' })
      expect(failure.message).to.equal('Rate limit exceeded')
      expect(hintOf(failure)).to.match(/^Try again in 30 min \(at \d{4}-.*Z\), or .*--max-wait 30m$/)
      expect(clock.waits).to.deep.equal([40_000])
    })

    it('backs off exponentially without a header until the maximum wait is used up', async () => {
      await start(limited(), { maxWait: 12_000 })
      await failureOf(client.settings.get())
      expect(clock.waits).to.deep.equal([750, 1500, 3000, 6000])
    })

    it('waits at least 1 s between later attempts if the service asks for no wait', async () => {
      await start(limited({ 'retry-after': '0' }), { maxWait: 5000 })
      await failureOf(client.settings.get())
      expect(clock.waits).to.deep.equal([0, 1000, 1000, 1000, 1000, 1000])
    })

    it('returns the last 429 to a raw request', async () => {
      await start(limited({ 'retry-after': '61' }))
      expect((await client.send({ method: 'GET', path: '/x' })).status).to.equal(429)
    })

    it('can wait longer than a timer allows', async () => {
      const maxWait = Number.POSITIVE_INFINITY
      await start([limited({ 'retry-after': '3000000' }), okay], { maxWait })
      await client.settings.get()
      expect(clock.waits).to.deep.equal([3_000_000_000])
    })

    it('stops its wait immediately when it is aborted', async () => {
      const controller = new AbortController()
      server = await startScriptedServer(limited({ 'retry-after': '50' }))
      client = new Client({
        baseUrl: server.url,
        signal: controller.signal,
        observe: (event) => {
          if (event.type === 'wait') setImmediate(() => controller.abort(new Error('stop')))
        },
      })
      expect(await reasonOf(client.settings.get())).to.equal(controller.signal.reason)
    })
  })

  it('waits as long as a 503 says', async () => {
    await start([failing(503, 'busy', 'Busy', { 'retry-after': '11' }), okay])
    await client.settings.get()
    expect(clock.waits).to.deep.equal([11_000])
  })

  it('fails if a 503 asks for too long a wait, and says when to try again', async () => {
    await start(failing(503, 'busy', 'Busy', { 'retry-after': '600' }))
    const failure = await failureOf(client.settings.get())
    expect(failure.kind).to.equal('server_error')
    expect(hintOf(failure)).to.match(/^Try again in 10 min/)
    expect(clock.waits).to.deep.equal([])
  })
})
