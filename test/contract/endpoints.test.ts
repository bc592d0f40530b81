import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { composeOpenApi } from '../../scripts/openapi.ts'
import { type Endpoint, type EndpointName, endpoints, type RequestOf } from '../../src/contract/endpoints.ts'
import { errorBody } from '../../src/contract/resources/error-body.ts'
import { settings } from '../../src/contract/resources/settings.ts'
import { user } from '../../src/contract/resources/user.ts'
import { withCountedService } from '../service/limits/counted-service.ts'
import { type Answer, caller, withService } from '../service/temporary-service.ts'

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

interface OpenApi extends Record<string, unknown> {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, OpenApiResponse> }>>
  components: { responses: Record<string, OpenApiResponse> }
}

interface OpenApiResponse {
  headers: Record<string, object>
}

const openApiText = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
const openApi: OpenApi = JSON.parse(openApiText)
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(openApi, 'openapi.json')

/** The faults of a value, by its schema in docs/openapi.json. */
function faultsByOpenApi(schema: string, value: unknown): unknown {
  const validate = ajv.getSchema(`openapi.json#/components/schemas/${schema}`)
  expect(validate, schema).to.be.a('function')
  return validate?.(value) === true ? [] : validate?.errors
}

/** The headers of a response that neither HTTP itself nor docs/openapi.json describes. */
function unknownHeaders({ headers }: Answer, { headers: described }: OpenApiResponse): string[] {
  const known = Object.keys(described).map((name) => name.toLowerCase())
  const usual = /^(content-.*|date|connection|keep-alive|cache-control|transfer-encoding|vary)$/
  return [...headers.keys()].filter((name) => !usual.test(name) && !known.includes(name))
}

const componentOf = (name: EndpointName) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

describe('the requests of this file', () => {
  it('include each endpoint of the contract', () => {
    const fix = 'Add a valid request of the endpoint to `samples` in test/contract/endpoints.test.ts'
    expect(Object.keys(samples), fix).to.have.members(names)
  })
})

describe('docs/openapi.json', () => {
  it('matches the contract', () => expect(openApiText, 'Run: npm run docs').to.equal(composeOpenApi()))

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(openApi)).to.deep.equal({ valid: true })
    expect(validator.version).to.equal('3.1')
  })

  it('has each endpoint of the contract, with its parameters, request, and errors', () => {
    for (const name of names) {
      const { method, path } = endpoints[name]
      const operation = openApi.paths[path]?.[method.toLowerCase()]
      expect(operation?.operationId, `${method} ${path}`).to.equal(name)
      const statuses = ['2XX', '401', '403', '404', '429', 'default']
      expect(Object.keys(operation?.responses ?? {})).to.have.members(statuses)
      const { body } = samples[name]
      if (!body) continue
      expect(faultsByOpenApi(`${componentOf(name)}Request`, body)).to.deep.equal([])
      expect(faultsByOpenApi(`${componentOf(name)}Request`, { ...body, surplus: 1 })).to.have.length(1)
    }
    expect(openApi.paths['/api/chat/history']?.['get']).to.have.nested.property('parameters[1].name', 'limit')
    expect(openApi.paths['/v1/users/{id}']?.['get']).to.have.nested.property('parameters[0].required', true)
  })
})

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
        const described = openApi.paths[path]?.[method.toLowerCase()]?.responses['2XX']
        expect(described && unknownHeaders(answer, described)).to.deep.equal([])
        if ((endpoints[name] as Endpoint).response)
          expect(faultsByOpenApi(`${componentOf(name)}Response`, answer.body)).to.deep.equal([])
        const shape = shapeOf(name)
        if (shape) {
          expect(shape.safeParse(answer.body).error?.issues ?? []).to.deep.equal([])
          // The contract accepts fewer fields. This service sends every documented field.
          expect(missing(shape, answer.body), 'Add these to what src/service/domain sends').to.deep.equal([])
        }
      }))
  }

  it('sends the headers that docs/openapi.json describes for each status', () =>
    withCountedService(async ({ url, makeKey }) => {
      const call = caller(url, (await makeKey('enterprise', 3)).key)
      const { responses = {} } = openApi.paths['/v1/settings']?.['get'] ?? {}
      for (const [status, path, described] of [
        [200, '/v1/settings', responses['2XX']],
        [404, '/v1/users/nobody', openApi.components.responses['Error-404']],
        [400, '/v1/settings?surplus=1', openApi.components.responses['Error-default']],
        [429, '/v1/settings', openApi.components.responses['Error-429']],
      ] as const) {
        const answer = await call('GET', path)
        expect(answer.status).to.equal(status)
        if (status >= 400) expect(faultsByOpenApi('Error', answer.body)).to.deep.equal([])
        expect(described && unknownHeaders(answer, described)).to.deep.equal([])
        const missing = Object.keys(described?.headers ?? {}).filter((name) => !answer.headers.has(name))
        // This key does not expire.
        const absent = ['x-credential-expires-at', ...(status === 400 ? ['Retry-After'] : [])]
        expect(missing).to.deep.equal(absent)
      }
    }))

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
          expect(faultsByOpenApi('Error', answer.body)).to.deep.equal([])
          const described = openApi.components.responses['Error-401']
          expect(described && unknownHeaders(answer, described)).to.deep.equal([])
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
