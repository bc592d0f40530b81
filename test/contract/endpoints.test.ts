import { expect } from 'chai'
import { type Endpoint, type EndpointName, endpoints, type RequestOf } from '../../src/contract/endpoints.ts'
import { errorBody } from '../../src/contract/resources/error-body.ts'
import { settings } from '../../src/contract/resources/settings.ts'
import { user } from '../../src/contract/resources/user.ts'
import { caller, withService } from '../service/temporary-service.ts'

/** A request that each endpoint must accept. */
const samples: { [N in EndpointName]: { body?: RequestOf<N>; query?: string; status?: number } } = {
  createCompletion: {
    body: { messages: [{ role: 'user', content: 'hello' }], temperature: 0, max_tokens: 5 },
  },
  listModels: {},
  sendMessage: { body: { message: 'hello', stream: false } },
  listHistory: { query: '?limit=5' },
  getProfile: {},
  updateUserSettings: { body: { theme: 'dark', language: 'pt-BR', notifications: { push: true } } },
  getSettings: {},
  updateSettings: { body: { theme: { mode: 'dark' } } },
  getPreferences: {},
  setApiConfiguration: { body: { version: '2', rate_limiting: { enabled: true, requests_per_minute: 60 } } },
  createUser: { body: { email: 'ada@example.com', password: 'correct horse' }, status: 201 },
  getUser: {},
  updateUser: { body: { name: 'Ada' } },
  assignPermissions: { body: { permissions: ['read:chat'], role: 'editor' } },
}

const names = Object.keys(endpoints) as EndpointName[]

describe('the embedded service, compared with the contract', () => {
  for (const name of names) {
    const { method, path } = endpoints[name]

    it(`responds to ${method} ${path} as documented`, () =>
      withService(async ({ call }) => {
        const { body, query = '', status = 200 } = samples[name]
        const answer = await call(method, path.replace('{id}', 'usr_admin') + query, body)
        expect(answer.status, answer.text).to.equal(status)
        expect(answer.headers.get('content-type')).to.match(/^application\/json/)
        expect(answer.headers.get('x-request-id')).to.match(/^req_/)
        const shape = shapeOf(name)
        if (shape) {
          const parsed = shape.safeParse(answer.body)
          expect(parsed.error?.issues ?? []).to.deep.equal([])
          // The contract accepts fewer fields. This service sends every documented field.
          expect(missing(shape, answer.body), 'Add these to what src/service/domain sends').to.deep.equal([])
        }
      }))
  }

  it('rejects every endpoint without a key, with a wrong key, and with another scheme', () =>
    withService(async ({ url, key }) => {
      for (const name of names) {
        const { method, path } = endpoints[name]
        for (const authorization of [
          undefined,
          'Bearer ck_wrong',
          `Basic ${key}`,
          'Bearer',
          `Bearer ${key}x`,
        ]) {
          const answer = await caller(url, undefined)(
            method,
            path,
            samples[name].body,
            authorization === undefined ? {} : { authorization },
          )
          expect(answer.status, `${method} ${path} ${authorization}`).to.equal(401)
          expect(errorBody.parse(answer.body).error.code).to.equal('unauthorized')
          expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/)
          expect(answer.headers.get('x-request-id')).to.match(/^req_/)
        }
      }
    }))

  it('rejects unknown body fields and unknown query parameters on every endpoint', () =>
    withService(async ({ call }) => {
      for (const name of names) {
        const { method } = endpoints[name]
        const path = endpoints[name].path.replace('{id}', 'usr_admin')
        const { body } = samples[name]
        if (body) {
          const answer = await call(method, path, { ...body, surplus: 1 })
          expect(answer.status, path).to.equal(400)
          expect(answer.body.error.details.faults).to.deep.equal([
            { path: 'surplus', message: 'is not a known field' },
          ])
        }
        expect((await call(method, `${path}?surplus=1`, body)).status, path).to.equal(400)
      }
    }))
})

/** If the interface shows no response for an endpoint, this service returns the resource. */
function shapeOf(name: EndpointName): Endpoint['response'] {
  const endpoint: Endpoint = endpoints[name]
  if (endpoint.response) return endpoint.response
  if (name === 'updateSettings') return settings
  if (name === 'createUser' || name === 'updateUser') return user
  return undefined
}

function missing(shape: object, value: unknown, path = ''): string[] {
  const inner = unwrap(shape)
  const fields = 'shape' in inner ? (inner.shape as Record<string, object>) : {}
  return Object.entries(fields).flatMap(([key, field]) => {
    const found = Reflect.get(Object(value), key)
    return found === undefined || found === null ? [path + key] : missing(field, found, `${path}${key}.`)
  })
}

function unwrap(schema: object): object {
  const definition = Reflect.get(schema, '_zod')?.def
  return definition?.innerType ? unwrap(definition.innerType) : schema
}
