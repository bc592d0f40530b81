import { expect } from 'chai'
import { parseJson } from '../../src/contract/notation/exact-json.ts'
import { openStore } from '../../src/service/store/open-store.ts'
import { withCountedService } from './limits/counted-service.ts'
import { onEachTransport } from './temporary-service.ts'

const numbers = '9007199254740993,1234567890123456789,1.0,0.10,-0,1e400,1E5,12345678901234567890.10'
const metadata = `{"n":9007199254740993,"list":[${numbers}],"in":{"x":1.0}}`

onEachTransport('numbers that a double cannot represent', (withService) => {
  it('are stored in metadata and returned as they were sent, also after another key changes', () =>
    withService(async ({ call, place }) => {
      const given = parseJson(`{"email":"a@example.com","password":"correct horse","metadata":${metadata}}`)
      const created = await call('POST', '/v1/users', given)
      expect(created.status).to.equal(201)
      expect(created.text).to.include(metadata)
      const path = `/v1/users/${created.body.id}`
      expect((await call('GET', path)).text).to.include(metadata)
      const changed = await call('PATCH', path, parseJson('{"metadata":{"m":9007199254740995,"in":null}}'))
      expect(changed.text).to.include(`{"n":9007199254740993,"list":[${numbers}],"m":9007199254740995}`)

      const store = await openStore(place)
      const entries = await store.db.selectFrom('audit_log').select('after').execute()
      await store.close()
      expect(entries.map(({ after }) => after).join())
        .to.include(metadata)
        .and.to.include('"m":9007199254740995')
    }))

  it('are stored in settings and returned as they were sent', () =>
    withService(async ({ call }) => {
      const limits = '{"max_tokens":9007199254740993,"max_requests_per_min":60.0}'
      expect((await call('PATCH', '/v1/settings', parseJson(`{"limits":${limits}}`))).text).to.include(limits)
      expect((await call('GET', '/v1/settings')).text).to.include(limits)
    }))

  it('are rejected like other numbers if they are not integers or are out of range', () =>
    withService(async ({ call }) => {
      for (const [text, path] of [
        ['{"limits":{"max_tokens":1.00000000000000000001}}', 'limits.max_tokens'],
        ['{"limits":{"max_tokens":-9007199254740993}}', 'limits.max_tokens'],
        ['{"limits":1.0}', 'limits'],
      ] as const) {
        const { status, body } = await call('PATCH', '/v1/settings', parseJson(text))
        expect({ status, path: body.error.details.faults[0].path }).to.deep.equal({ status: 400, path })
      }
      const messages = [{ role: 'user', content: 'hi' }]
      const order = (temperature: string) => ({ messages, temperature: parseJson(temperature) })
      expect((await call('POST', '/v1/chat/completions', order('1.0'))).status).to.equal(200)
      expect((await call('POST', '/v1/chat/completions', order('2.50'))).status).to.equal(400)
    }))

  it('do not let a body contain the name __proto__', () =>
    withService(async ({ call }) => {
      const { status } = await call(
        'PATCH',
        '/v1/settings',
        parseJson('{"limits":{"max_tokens":1.0},"__proto__":{}}'),
      )
      expect(status).to.equal(400)
    }))
})

describe('a rate limit that a double cannot represent', () => {
  it('is applied as the largest safe integer', () =>
    withCountedService(async ({ call, admin }) => {
      const policyWith = async (limit: string) => {
        const body = parseJson(`{"limits":{"max_requests_per_min":${limit}}}`)
        expect((await admin('PATCH', '/v1/settings', body)).text).to.include(
          `"max_requests_per_min":${limit}`,
        )
        return (await call('GET', '/v1/settings')).headers.get('ratelimit-policy')
      }
      expect(await policyWith('3.0')).to.include('"minute";q=3;')
      expect(await policyWith('9007199254740993')).to.include(`"minute";q=${Number.MAX_SAFE_INTEGER};`)
      expect(await policyWith('1e400')).to.include(`"minute";q=${Number.MAX_SAFE_INTEGER};`)
    }))
})
