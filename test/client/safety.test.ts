import { expect } from 'chai'
import type { ClientEvent } from '../../src/client/client-event.ts'
import type { OutgoingRequest } from '../../src/client/outgoing-request.ts'
import { answer, json, redirect, reset, startScriptedServer } from '../support/scripted-server.ts'
import { everythingIn, failureOf, hurriedClock, reasonOf } from './capture.ts'
import { scriptedClient } from './scripted-client.ts'

const canary = 'sk-canary-4f1e92c07a'

describe('the safety of requests', () => {
  const events: ClientEvent[] = []
  const { server, client, start } = scriptedClient(() => {
    events.length = 0
    const observe = (event: ClientEvent) => events.push(event)
    return { credential: canary, internal: { clock: hurriedClock() }, observe }
  })
  afterEach(() => expect(everythingIn(events)).not.to.include(canary))

  describe('the credential', () => {
    it('is sent as a bearer token with every request', async () => {
      await start(json(200, {}))
      await client.settings.get()
      await client.send({ method: 'GET', path: '/x' })
      const sent = server.requests.map((request) => request.headers.authorization)
      expect(sent).to.deep.equal([`Bearer ${canary}`, `Bearer ${canary}`])
    })

    it('is read again for every request, and may be absent', async () => {
      const given = [canary, undefined]
      await start(json(200, {}), { credential: async () => given.shift() })
      await client.settings.get()
      await client.settings.get()
      const sent = server.requests.map((request) => request.headers.authorization)
      expect(sent).to.deep.equal([`Bearer ${canary}`, undefined])
    })

    for (const [what, tail] of [
      ['a line break', '\r\nX-Evil: 1'],
      ['a control character', '\u0007'],
      ['a delete', '\u007f'],
      ['a C1 control character', '\u0085'],
      ['a character beyond Latin-1', '\u2713'],
    ])
      it(`is refused if it contains ${what}, and the error does not repeat it`, async () => {
        await start(json(200, {}), { credential: canary + tail })
        const failure = await failureOf(client.settings.get())
        expect(failure.kind).to.equal('refused')
        expect(everythingIn(failure)).not.to.include(canary)
        expect(server.requests).to.have.lengthOf(0)
      })

    it('is refused if it is empty', async () => {
      await start(json(200, {}), { credential: '' })
      expect((await failureOf(client.settings.get())).kind).to.equal('refused')
    })

    it('is redacted in an error that quotes it', async () => {
      const echo = {
        error: { code: canary, message: `Invalid key ${canary}`, details: { [canary]: [canary] } },
      }
      await start(json(401, echo, { 'x-request-id': canary, 'x-echo': `Bearer ${canary}` }))
      const failure = await failureOf(client.settings.get())
      expect(failure.message).to.equal('Invalid key [redacted]')
      expect(everythingIn(failure)).not.to.include(canary)
    })

    it('is redacted in a URL, together with any query value whose name suggests a secret', async () => {
      await start(reset)
      const path = `/x/${canary}?api_key=canary-query&limit=3`
      const failure = await failureOf(client.send({ method: 'POST', path }))
      expect(failure.request?.url).to.equal(`${server.url}/x/[redacted]?api_key=redacted&limit=3`)
      expect(everythingIn([failure, events])).not.to.include('canary')
    })

    it('is not shown in an event, and neither is a cookie or a secret header', async () => {
      await start(json(200, {}, { 'set-cookie': 'sid=canary-cookie' }))
      await client.send({ method: 'GET', path: '/x', headers: { 'X-Api-Key': 'canary-header' } })
      expect(server.requests[0]?.headers['x-api-key']).to.equal('canary-header')
      expect(events.map((event) => event.type)).to.deep.equal(['request', 'sent', 'response'])
      expect(everythingIn(events)).not.to.include('canary')
    })
  })

  describe('a redirected request', () => {
    it('follows the redirect within the origin, with the credential', async () => {
      await start([redirect(302, '/pre/moved'), json(200, { app_name: 'x' })], {
        baseUrl: `${server.url}/pre`,
      })
      expect((await client.settings.get()).body).to.deep.equal({ app_name: 'x' })
      expect(server.requests[1]).to.include({ method: 'GET', path: '/pre/moved' })
      expect(server.requests[1]?.headers.authorization).to.equal(`Bearer ${canary}`)
      expect(events.map((event) => event.type)).to.include('redirect')
    })

    for (const status of [307, 308])
      it(`keeps its method and body after ${status}`, async () => {
        await start([redirect(status, 'elsewhere'), json(200, {})])
        await client.users.create({ name: 'n' })
        expect(server.requests[1]).to.include({ method: 'POST', path: '/v1/elsewhere', body: '{"name":"n"}' })
      })

    for (const status of [301, 302, 303])
      it(`does not follow ${status} if it is a POST`, async () => {
        await start(redirect(status, '/elsewhere'))
        const failure = await failureOf(client.users.create({ name: 'n' }))
        // After a 302 or 303 the change may have been made (RFC 9110 section 15.4.4).
        const kind = status === 301 ? 'rejected' : 'unknown_outcome'
        expect(failure).to.include({ kind, status, isOutcomeUnknown: status !== 301 })
        expect(server.requests).to.have.lengthOf(1)
      })

    for (const status of [301, 302, 303, 307, 308])
      for (const method of ['GET', 'POST'])
        it(`is not sent to another origin after ${status} if it is a ${method}`, async () => {
          await using thief = await startScriptedServer(json(200, {}))
          await start(redirect(status, `${thief.url}/v1/settings`))
          const failure = await failureOf(client.send({ method, path: '/v1/settings' }))
          const mayBeMade = method === 'POST' && (status === 302 || status === 303)
          expect(failure.kind).to.equal(mayBeMade ? 'unknown_outcome' : 'rejected')
          expect(failure.isOutcomeUnknown).to.equal(mayBeMade)
          expect(failure.message).to.include(server.url).and.to.include(thief.url)
          expect(thief.requests).to.have.lengthOf(0)
        })

    for (const location of [
      '//evil.example/x',
      'http://localhost/x',
      'https://127.0.0.1/x',
      'data:text/plain,x',
    ])
      it(`is not sent to ${location}`, async () => {
        await start(redirect(302, location))
        expect((await failureOf(client.settings.get())).kind).to.equal('rejected')
      })

    it('follows at most five redirects', async () => {
      await start({ choose: (_, index) => redirect(302, `/hop/${index}`) })
      expect((await failureOf(client.settings.get())).message).to.match(/more than 5/)
      expect(server.requests).to.have.lengthOf(6)
    })

    it('without a Location is returned as a raw response, and is a failure otherwise', async () => {
      await start(answer(304))
      expect((await client.send({ method: 'GET', path: '/x' })).status).to.equal(304)
      expect((await failureOf(client.settings.get())).kind).to.equal('rejected')
    })
  })

  describe('a request before it is sent', () => {
    it('passes the gate, without the credential', async () => {
      const seen: OutgoingRequest[] = []
      const held = new Error('held back')
      await start(json(200, {}), {
        baseUrl: 'https://unused.invalid',
        gate: (request) => {
          seen.push(request)
          throw held
        },
      })
      expect(await reasonOf(client.users.update('a b', { name: 'n' }))).to.equal(held)
      expect(seen[0]).to.deep.include({ method: 'PATCH', path: '/v1/users/a%20b', body: { name: 'n' } })
      expect(everythingIn(seen)).not.to.match(/canary|authorization/i)
    })

    it('passes the gate once, however often it is sent', async () => {
      let calls = 0
      await start([reset, redirect(307, '/x'), json(200, {})], { gate: () => void calls++ })
      await client.settings.get()
      expect(calls).to.equal(1)
      expect(server.requests).to.have.lengthOf(3)
    })

    it('is refused with every fault if it does not match the interface', async () => {
      await start(json(200, {}))
      const failure = await failureOf(client.users.create({ email: 'nobody', admin: true } as object))
      expect(failure.kind).to.equal('refused')
      expect(failure.message)
        .to.match(/email must be a valid email address/)
        .and.to.match(/admin is not a known field/)
      expect(failure.details).to.have.property('faults').with.lengthOf(2)
      await failureOf(client.history.page({ limit: Number.NaN }))
      expect(server.requests).to.have.lengthOf(0)
    })

    for (const name of [
      'Authorization',
      'Host',
      'Content-Length',
      'Transfer-Encoding',
      'Connection',
      'a b',
      '',
    ])
      it(`is refused with the header ${JSON.stringify(name)}`, async () => {
        await start(json(200, {}))
        const sent = client.send({ method: 'GET', path: '/x', headers: { [name]: 'x' } })
        expect((await failureOf(sent)).kind).to.equal('refused')
      })

    it('is refused with a line break in a header or an invalid method', async () => {
      await start(json(200, {}))
      const sent = client.send({ method: 'GET', path: '/x', headers: { 'x-a': 'b\r\nc: d' } })
      expect((await failureOf(sent)).kind).to.equal('refused')
      for (const method of ['', 'GET /', 'CONNECT', 'TRACE'])
        expect((await failureOf(client.send({ method, path: '/x' }))).kind).to.equal('refused')
    })

    it('is refused with an invalid base URL', async () => {
      await start(json(200, {}), { baseUrl: 'http://example.com' })
      expect((await failureOf(client.settings.get())).kind).to.equal('refused')
    })
  })
})
