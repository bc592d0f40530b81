import { expect } from 'chai'
import { corsHeaders } from '../../../src/service/http/request/cors.ts'
import { caller, type TemporaryService, withService } from '../temporary-service.ts'

const a = 'https://a.example'
const b = 'http://b.example:81'

/** The headers that concern CORS. */
const corsOf = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-')))

const configure = (call: TemporaryService['call'], cors: object) => call('POST', '/v1/settings/api', { cors })

const preflight = (call: TemporaryService['call'], origin: string, method: string, path = '/v1/settings') =>
  call('OPTIONS', path, undefined, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization',
  })

describe('CORS', () => {
  const table: [string, origins: string[], methods: string[], asked: string, string | undefined][] = [
    ['a listed origin', [a, b], ['GET'], `GET ${b}`, b],
    ['an unlisted origin', [a], ['GET'], `GET ${b}`, undefined],
    ['another scheme', [a], ['GET'], 'GET http://a.example', undefined],
    ['another port', [a], ['GET'], `GET ${a}:444`, undefined],
    ['a subdomain', [a], ['GET'], 'GET https://x.a.example', undefined],
    ['a longer host name', [a], ['GET'], `GET ${a}.evil.example`, undefined],
    ['any origin if * is listed', ['*'], ['GET'], `GET ${b}`, '*'],
    ['the origin null if * is listed', ['*'], ['GET'], 'GET null', '*'],
    ['the origin null if others are listed', [a], ['GET'], 'GET null', undefined],
    ['every origin if none is listed', [], ['GET'], `GET ${a}`, undefined],
    ['an unlisted method', ['*'], ['GET'], `POST ${a}`, undefined],
    ['every method if none is listed', ['*'], [], `GET ${a}`, undefined],
    ['HEAD if GET is listed', [a], ['GET'], `HEAD ${a}`, a],
    ['any method if * is listed', [a], ['*'], `PATCH ${a}`, a],
    ['a method that is listed in lowercase', [a], ['patch'], `PATCH ${a}`, a],
  ]
  for (const [what, origins, methods, asked, allowOrigin] of table)
    it(`${allowOrigin === undefined ? 'rejects' : 'allows'} ${what}`, () => {
      const [method = '', origin = ''] = asked.split(' ')
      for (const isPreflight of [true, false]) {
        const cors = { allowed_origins: origins, allowed_methods: methods }
        const headers = corsHeaders(cors, origin, method, isPreflight)
        expect(headers['access-control-allow-origin']).to.equal(allowOrigin)
        if (allowOrigin === undefined) expect(headers).to.deep.equal({})
        expect(headers).not.to.have.property('access-control-allow-credentials')
      }
    })

  it('responds to a preflight without a key, for every path of the interface', () =>
    withService(async ({ call, url }) => {
      await configure(call, { allowed_origins: [a], allowed_methods: ['GET', 'patch'] })
      const stranger = caller(url, undefined)
      for (const path of ['/v1/settings', '/api/chat/send', '/v1/nowhere', '/oauth/token']) {
        const answer = await preflight(stranger, a, 'PATCH', path)
        expect(answer.status, path).to.equal(204)
        expect(answer.text).to.equal('')
        expect(corsOf(answer.headers)).to.deep.equal({
          vary: 'Origin',
          'access-control-allow-origin': a,
          'access-control-allow-methods': 'GET, PATCH',
          'access-control-allow-headers': 'authorization, content-type, x-request-id',
          'access-control-max-age': '600',
        })
        expect(answer.headers.get('x-request-id')).to.be.a('string')
      }
      // The SDK of OpenAI sends headers whose names only the preflight knows.
      const sent = { 'access-control-request-headers': 'authorization, x-stainless-lang' }
      for (const origin of [a, b]) {
        const asked = { origin, 'access-control-request-method': 'PATCH', ...sent }
        const { headers } = await stranger('OPTIONS', '/openai/v1/models', undefined, asked)
        const allowed = origin === a ? sent['access-control-request-headers'] : null
        expect(headers.get('access-control-allow-headers')).to.equal(allowed)
      }
      for (const [origin, method] of [
        [b, 'GET'],
        [a, 'POST'],
        ['', 'GET'],
      ] as const) {
        const answer = await preflight(stranger, origin, method)
        expect(answer.status).to.equal(204)
        expect(corsOf(answer.headers)).to.deep.equal({ vary: 'Origin' })
      }
    }))

  it('treats OPTIONS that is not a preflight like any other request', () =>
    withService(async ({ call, url }) => {
      await configure(call, { allowed_origins: ['*'] })
      expect(
        (await caller(url, undefined)('OPTIONS', '/v1/settings', undefined, { origin: a })).status,
      ).to.equal(401)
      const method = { 'access-control-request-method': 'GET' }
      expect((await call('OPTIONS', '/v1/settings', undefined, method)).status).to.equal(405)
      expect((await call('OPTIONS', '/elsewhere', undefined, { origin: a, ...method })).status).to.equal(404)
    }))

  it('lets a page read every response, including errors and streams', () =>
    withService(async ({ call, url }) => {
      await configure(call, { allowed_origins: [a] })
      const seen = {
        vary: 'Origin',
        'access-control-allow-origin': a,
        'access-control-expose-headers':
          'location, ratelimit, ratelimit-policy, retry-after, x-credential-expires-at, x-request-id, x-settings-serial',
      }
      const origin = { origin: a }
      for (const [status, answer] of [
        [200, call('GET', '/v1/settings', undefined, origin)],
        [201, call('POST', '/v1/users', { email: 'a@example.com', password: 'long enough' }, origin)],
        [200, call('POST', '/api/chat/send', { message: 'x', stream: true }, origin)],
        [400, call('POST', '/v1/users', {}, origin)],
        [400, call('POST', '/v1/users', '{', origin)],
        [401, caller(url, 'ck_x')('GET', '/v1/settings', undefined, origin)],
        [404, call('GET', '/v1/nowhere', undefined, origin)],
      ] as const) {
        const { status: found, headers } = await answer
        expect(found).to.equal(status)
        expect(corsOf(headers), String(status)).to.deep.equal(seen)
      }
      expect(corsOf((await call('GET', '/v1/settings', undefined, { origin: b })).headers)).to.deep.equal({
        vary: 'Origin',
      })
      expect(corsOf((await call('GET', '/v1/settings')).headers)).to.deep.equal({ vary: 'Origin' })
      expect(corsOf((await call('GET', '/elsewhere', undefined, origin)).headers)).to.deep.equal({})
    }))

  it('hides responses of the OAuth server from unlisted pages, whatever client they name', () =>
    withService(async ({ url, call }) => {
      await configure(call, { allowed_origins: [a], allowed_methods: ['POST'] })
      for (const path of ['/oauth/token', '/oauth/revoke'])
        for (const client of ['chatctl', 'other']) {
          const body = new URLSearchParams({ client_id: client, token: 'x', grant_type: 'refresh_token' })
          const seen = async (origin: string | undefined) => {
            const headers: Record<string, string> = origin === undefined ? {} : { origin }
            const answer = await fetch(url + path, { method: 'POST', body, headers })
            return answer.headers.get('access-control-allow-origin')
          }
          expect(await seen(a), `${path} ${client}`).to.equal(a)
          for (const other of [b, 'null', undefined])
            expect(await seen(other), `${path} ${client}`).to.equal(null)
        }
    }))

  it('follows the current configuration, and allows no origin by default', () =>
    withService(async ({ call }) => {
      const allowed = async () =>
        (await call('GET', '/v1/settings', undefined, { origin: a })).headers.get(
          'access-control-allow-origin',
        )
      expect(await allowed()).to.equal(null)
      await configure(call, { allowed_origins: [b, a] })
      expect(await allowed()).to.equal(a)
      await configure(call, { allowed_methods: ['POST'] })
      expect(await allowed()).to.equal(null)
      await configure(call, { allowed_origins: ['*'], allowed_methods: ['GET'] })
      expect(await allowed()).to.equal('*')
      await configure(call, { allowed_origins: [] })
      expect(await allowed()).to.equal(null)
    }))
})
