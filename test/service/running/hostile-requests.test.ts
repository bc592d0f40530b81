import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { endpoints } from '../../../src/contract/endpoints.ts'
import { errorBody } from '../../../src/contract/resources/error-body.ts'
import { generateKey } from '../../../src/service/domain/access/keys.ts'
import { codePoint } from '../../support/code-point.ts'
import { startServer } from '../start-server.ts'
import { type RawResponse, readResponses, sendBytes } from './raw-request.ts'

/** A secret that must never be in the log. No request may cause a 500 or a connection that hangs. */

const canary = 'canary-never-in-a-log'
const key = generateKey()
let url = ''
let log = ''

/** `random-seeds.test.ts` raises the number of runs of every property. */
const runs = (quick: number) => ({
  numRuns: (quick * (fc.readConfigureGlobal().numRuns ?? 100)) / 100,
  interruptAfterTimeLimit: 500_000,
  endOnFailure: true,
})

/** A request as bytes, with the Content-Length of its body unless the headers set one. */
function write(
  method: string,
  path: string,
  body: string | Uint8Array = '',
  headers: string[] = [],
  stays = false,
): Buffer {
  const bytes = Buffer.from(body)
  const own = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line))
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${key}`,
    ...(own || bytes.length === 0
      ? []
      : [`content-length: ${bytes.length}`, 'content-type: application/json']),
    ...(stays ? [] : ['connection: close']),
    ...headers,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
}

/** The only response. The service may close or keep the connection, but the response must be complete. */
async function ask(bytes: Uint8Array): Promise<RawResponse> {
  const { text } = await sendBytes(url, bytes, { silence: 5_000 })
  const answers = readResponses(text)
  expect(answers, `${Buffer.from(bytes).subarray(0, 200)} → ${text.slice(0, 200)}`).to.have.length(1)
  const [answer] = answers
  return answer as RawResponse
}

function expectRefused(answer: RawResponse, ...statuses: number[]): void {
  expect(answer.status, answer.head + answer.body).to.be.oneOf(statuses)
  expect(errorBody.safeParse(JSON.parse(answer.body)).success).to.equal(true)
}

function expectSane({ status, head, body }: RawResponse): void {
  expect(status, `${head}\n${body}`).to.be.below(500)
  expect(head).to.match(/^x-request-id: req_/im)
  if (status >= 400 && body !== '') errorBody.parse(JSON.parse(body))
}

describe('hostile requests', function () {
  this.timeout(600_000)
  let close: () => Promise<void>
  before(async () => {
    const sink = new PassThrough()
    sink.on('data', (chunk) => {
      log += chunk
    })
    const logger = pino({ level: 'trace' }, sink)
    const isProcessKey = (given: string) => given === key
    ;({ url, close } = await startServer({ logger, isProcessKey, requestTimeout: 1_000 }))
  })
  after(() => close())
  afterEach(() => {
    for (const secret of [key, key.slice(3, 30), canary]) expect(log).not.to.include(secret)
    expect(log).not.to.include('"level":50')
    log = ''
  })

  const routes = Object.values(endpoints)

  it('with arbitrary JSON bodies get a response below 500', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.json({ maxDepth: 8 }).map((text) => text.replaceAll('"":', `"${canary}":`)),
        async ({ method, path }, body) => {
          expectSane(await ask(write(method, path.replace('{id}', 'usr_admin'), body)))
        },
      ),
      runs(40),
    ))

  it('with almost valid bodies and unusual values get a response below 500', () => {
    const strange = fc.oneof(
      fc.constantFrom<unknown>(
        ...[
          '\0',
          '\ud800',
          '\udfff\ud800',
          '',
          ' ',
          '\u202e',
          '__proto__',
          'constructor',
          null,
          -0,
          1e308,
          -1,
          0.5,
        ],
        ...[
          9_007_199_254_740_991,
          true,
          [],
          {},
          [null],
          { toString: 1 },
          { length: -1 },
          canary,
          'x'.repeat(70_000),
        ],
      ),
      fc.string({ unit: codePoint }),
      fc.jsonValue({ maxDepth: 3 }),
    )
    const templates: Record<string, object> = {
      'POST /v1/chat/completions': {
        model: 'test-program',
        messages: [{ role: 'user', content: 'x' }],
        temperature: 1,
        max_tokens: 5,
      },
      'POST /api/chat/send': { message: 'x', context_id: 'ctx_1', model: 'test-program', stream: false },
      'PUT /api/user/settings': { theme: 'dark', language: 'en', notifications: { email: true } },
      'PATCH /v1/settings': {
        app_name: 'x',
        theme: { primary_color: '#112233', mode: 'dark' },
        limits: { max_tokens: 5 },
      },
      'POST /v1/settings/api': {
        version: 'v1',
        rate_limiting: { enabled: false, requests_per_minute: 5 },
        cors: { allowed_origins: ['*'], allowed_methods: ['GET'] },
      },
      'POST /v1/users': { email: 'a@example.com', password: canary, name: 'x', metadata: { a: 1 } },
      'PATCH /v1/users/usr_admin': { name: 'x', metadata: { a: 1 }, settings: { theme: 'dark' } },
      'POST /v1/users/usr_admin/permissions': { permissions: ['read:chat'], role: 'admin' },
    }
    return fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(templates)),
        fc.nat(),
        strange,
        fc.boolean(),
        async (name, at, value, isName) => {
          const [method = '', path = ''] = name.split(' ')
          const body: Record<string, unknown> = structuredClone(templates[name] ?? {}) as Record<
            string,
            unknown
          >
          const fields = Object.keys(body)
          const field = fields[at % fields.length] ?? ''
          const inner = body[field]
          if (isName) body[typeof value === 'string' ? value : JSON.stringify(value)] = value
          else if (typeof inner === 'object' && inner !== null && at % 2)
            Object.assign(inner, { [Object.keys(inner)[0] ?? '']: value })
          else body[field] = value
          // The built-in admin keeps its role.
          if (path.endsWith('/permissions')) body['role'] = 'admin'
          expectSane(await ask(write(method, path, JSON.stringify(body))))
        },
      ),
      runs(80),
    )
  })

  it('with arbitrary bytes as their body get 400 or 415', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.constantFrom(
          ...[
            'application/json',
            'application/json; charset=utf-16',
            'text/plain',
            'application/json;x="',
            ';',
          ],
          ...['a/b/c', 'multipart/form-data; boundary=x', 'application/JSON'],
        ),
        async (body, type) => {
          const length = `content-length: ${body.length}`
          const answer = await ask(write('POST', '/api/chat/send', body, [length, `content-type: ${type}`]))
          expectSane(answer)
          expect(answer.status).to.be.oneOf([400, 415])
        },
      ),
      runs(40),
    ))

  it('with arbitrary paths and queries get a response below 500 without injected headers', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'HEAD'],
        ),
        fc.oneof(
          // fc.webPath() takes a second to prepare.
          fc
            .array(fc.oneof(fc.constantFrom(..."/aZ09-._~!$&'()*+,;=:@"), codePoint.map(encodeURIComponent)))
            .map((all) => `/${all.join('')}`),
          fc.string({
            unit: fc.constantFrom(
              ...'/%.?#&=;:@+~*ab0\\{}|^`[]"\'<>'.split(''),
              ...['%00', '%0d%0a', '%c0%ae', '..', '%ff', '/v1/', 'users'],
            ),
          }),
          fc.constantFrom(
            'http://x/v1/settings',
            '*',
            '//x/v1/settings',
            '/v1/users/%0d%0aset-cookie:%20a=b',
            '/v1/users/%00',
            '/v1/users/%ed%a0%80',
            `/v1/users/${'a'.repeat(9000)}`,
            '/api/chat/history?limit=1e3&limit=2',
            `/api/chat/history?before=${'%00'.repeat(50)}`,
            '/api/chat/history?__proto__=1&constructor=2',
            `/api/chat/history?${'a&'.repeat(3000)}`,
          ),
        ),
        async (method, path) => {
          const target =
            method !== 'OPTIONS' && path === '*' ? '/' : /^(\/|http|\*)/.test(path) ? path : `/${path}`
          const { text } = await sendBytes(url, write(method, target), { silence: 5_000 })
          for (const answer of method === 'HEAD' ? [] : readResponses(text)) expectSane(answer)
          expect(text)
            .to.match(/^HTTP\/1\.1 /)
            .and.not.match(/^set-cookie/im)
        },
      ),
      runs(60),
    ))

  it('with heads that are too large get 431', async () => {
    expectRefused(await ask(write('GET', '/v1/settings', '', [`x: ${'y'.repeat(16_384)}`])), 431)
    expectRefused(await ask(write('GET', `/v1/settings?${'y'.repeat(16_384)}`)), 431)
    expect((await ask(write('GET', '/v1/settings', '', [`x: ${'y'.repeat(16_000)}`]))).status).to.equal(200)
  })
})
