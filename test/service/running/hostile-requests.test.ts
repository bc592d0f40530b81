import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { pino } from 'pino'
import { endpoints } from '../../../src/contract/endpoints.ts'
import { errorBody } from '../../../src/contract/resources/error-body.ts'
import { generateKey } from '../../../src/service/domain/access/keys.ts'
import { exceededLimit } from '../../../src/service/http/request/parse-json.ts'
import { startServer } from '../start-server.ts'
import { type RawAnswer, readAnswers, sendBytes } from './raw-request.ts'

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
async function ask(bytes: Uint8Array): Promise<RawAnswer> {
  const { text } = await sendBytes(url, bytes, { silence: 5_000 })
  const answers = readAnswers(text)
  expect(answers, `${Buffer.from(bytes).subarray(0, 200)} → ${text.slice(0, 200)}`).to.have.length(1)
  const [answer] = answers
  return answer as RawAnswer
}

function expectRefused(answer: RawAnswer, ...statuses: number[]): void {
  expect(answer.status, answer.head + answer.body).to.be.oneOf(statuses)
  expect(errorBody.safeParse(JSON.parse(answer.body)).success).to.equal(true)
}

function expectSane({ status, head, body }: RawAnswer): void {
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
      runs(60),
    ))

  it('with almost valid bodies and unusual values get a response below 500', () => {
    const strange = fc.oneof(
      fc.constantFrom<unknown>(
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
        9_007_199_254_740_991,
        true,
        [],
        {},
        [null],
        { toString: 1 },
        { length: -1 },
        canary,
        'x'.repeat(70_000),
      ),
      fc.string({ unit: 'binary' }),
      fc.jsonValue({ maxDepth: 3 }),
    )
    const templates: Record<string, object> = {
      'POST /v1/chat/completions': {
        model: 'offline',
        messages: [{ role: 'user', content: 'x' }],
        temperature: 1,
        max_tokens: 5,
      },
      'POST /api/chat/send': { message: 'x', context_id: 'ctx_1', model: 'offline', stream: false },
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
      runs(150),
    )
  })

  it('with arbitrary bytes as their body get 400 or 415', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.constantFrom(
          'application/json',
          'application/json; charset=utf-16',
          'text/plain',
          'application/json;x="',
          ';',
          'a/b/c',
          'multipart/form-data; boundary=x',
          'application/JSON',
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

  it('with bodies that are nested too deeply get 400 on every endpoint', async () => {
    for (const { method, path } of routes.filter((route) => route.method !== 'GET')) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
        ['[{"a":', '}]'],
      ] as const) {
        const body = open.repeat(200_000) + (open === '[' ? '' : '1') + close.repeat(200_000)
        const answer = await ask(write(method, path.replace('{id}', 'x'), body))
        expectRefused(answer, 400)
        expect(answer.body).to.include('100 levels deep')
      }
    }
    expect(
      (await ask(write('PATCH', '/v1/users/usr_admin', `{"name":"${'[{'.repeat(500)}\\"[["}`))).status,
    ).to.equal(400)
    expect(
      (await ask(write('PATCH', '/v1/users/usr_admin', `{"name":"${'[{'.repeat(99)}\\"["}`))).status,
    ).to.equal(200)
  })

  it('with arbitrary paths and queries get a response below 500 without injected headers', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'HEAD'],
        ),
        fc.oneof(
          fc.webPath(),
          fc.string({
            unit: fc.constantFrom(
              ...'/%.?#&=;:@+~*ab0\\{}|^`[]"\'<>'.split(''),
              '%00',
              '%0d%0a',
              '%c0%ae',
              '..',
              '%ff',
              '/v1/',
              'users',
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
          for (const answer of method === 'HEAD' ? [] : readAnswers(text)) expectSane(answer)
          expect(text)
            .to.match(/^HTTP\/1\.1 /)
            .and.not.match(/^set-cookie/im)
        },
      ),
      runs(120),
    ))

  it('with arbitrary headers get a response that does not repeat them', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.constantFrom(
              'x-request-id',
              'accept',
              'origin',
              'cookie',
              'x-forwarded-for',
              'x-forwarded-host',
              'range',
              'if-none-match',
              'upgrade',
              'te',
              'via',
              'accept-version',
              'accept-encoding',
              'content-encoding',
              'authorization',
            ),
            fc.string({
              unit: fc
                .integer({ min: 0, max: 255 })
                .filter((c) => c !== 13 && c !== 10)
                .map((c) => String.fromCharCode(c)),
              maxLength: 60,
            }),
          ),
          { maxLength: 5 },
        ),
        async (headers) => {
          const lines = headers.map(([name, value]) => `${name}: ${value}injected: 1`)
          const answer = await ask(write('GET', '/v1/settings', '', lines))
          expectSane(answer)
          expect(answer.head).not.to.include('injected')
        },
      ),
      runs(80),
    ))

  it('with heads that are too large or have too many lines get 431', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `x${index}: y`)
    expect((await ask(write('GET', '/v1/settings', '', many(97)))).status).to.equal(200)
    expectRefused(await ask(write('GET', '/v1/settings', '', many(98))), 431)
    expectRefused(await ask(write('GET', '/healthz', '', many(98))), 431)
    expectRefused(await ask(write('GET', '/v1/settings', '', many(2_500))), 431)
    expectRefused(await ask(write('GET', '/v1/settings', '', [`x: ${'y'.repeat(16_384)}`])), 431)
    expectRefused(await ask(write('GET', `/v1/settings?${'y'.repeat(16_384)}`)), 431)
    expect((await ask(write('GET', '/v1/settings', '', [`x: ${'y'.repeat(16_000)}`]))).status).to.equal(200)
  })

  it('that two servers could read differently get a single error response', async () => {
    const smuggled = 'GET /v1/chat/models HTTP/1.1\r\nhost: x\r\n\r\n'
    for (const headers of [
      ['content-length: 5', 'transfer-encoding: chunked'],
      ['transfer-encoding: chunked', 'content-length: 5'],
      ['transfer-encoding: chunked, identity'],
      ['transfer-encoding: xchunked'],
      ['transfer-encoding : chunked'],
      ['transfer-encoding: chunked', 'transfer-encoding: x'],
      ['content-length: 5', 'content-length: 6'],
      ['content-length: 5, 6'],
      ['content-length: +5'],
      ['content-length: -1'],
      ['content-length: 0x5'],
      ['content-length: 99999999999999999999'],
      ['content-length: 5\rx: y'],
      [' folded: x'],
      ['x: a\n folded: b'],
    ]) {
      const bytes = write(
        'POST',
        '/api/chat/send',
        `0\r\n\r\n${smuggled}`,
        ['content-type: application/json', ...headers],
        true,
      )
      const { text } = await sendBytes(url, bytes, { silence: 1_500 })
      const answers = readAnswers(text)
      expect(answers, headers.join('|')).to.have.length(1)
      expect(answers[0]?.status, headers.join('|')).to.be.oneOf([400, 413, 415])
    }
  })

  it('with two Host or Authorization lines are refused (RFC 9112 section 3.2)', async () => {
    for (const path of ['/v1/settings', '/healthz', '/.well-known/oauth-authorization-server']) {
      for (const line of ['Host: y', 'HOST: x', 'AUTHORIZATION: Bearer other']) {
        expectRefused(await ask(write('GET', path, '', [line])), 400)
      }
    }
  })

  it('that are pipelined get their responses in order', async () => {
    const paths = ['/v1/settings', '/v1/nope', '/api/user/profile', '/healthz', '/v1/users/x']
    const bytes = Buffer.concat(
      Array.from({ length: 50 }, (_, index) => write('GET', paths[index % 5] ?? '', '', [], true)),
    )
    const { text } = await sendBytes(url, bytes)
    const statuses = readAnswers(text).map(({ status }) => status)
    expect(statuses).to.deep.equal(
      Array.from({ length: 50 }, (_, index) => [200, 404, 200, 200, 404][index % 5]),
    )
  })

  it('of another protocol get an error or no response, and the connection ends', async () => {
    for (const bytes of [
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'GET / HTTP/3.7\r\n\r\n',
      'GET /v1/settings\r\n\r\n',
      'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'SSH-2.0-x\r\n',
      '\0\0\0\0',
    ]) {
      const { text, closed } = await sendBytes(url, Buffer.from(bytes, 'latin1'), { silence: 3_000 })
      expect(closed, JSON.stringify(bytes)).to.equal(true)
      if (text !== '') expect(readAnswers(text)[0]?.status).to.be.oneOf([400, 401])
    }
    const upgrade = await ask(write('GET', '/healthz', '', ['connection: upgrade', 'upgrade: websocket']))
    expect(upgrade.status).to.equal(200)
    expectRefused(await ask(write('GET', '/v1/settings', '', ['expect: the-impossible'])), 417)
    const patient = await ask(write('PATCH', '/v1/settings', '{}', ['expect: 100-continue']))
    expect(patient.status).to.equal(200)
  })

  it('that never end, or end in the middle, do not occupy connections for long', async () => {
    const { connections } = await countConnections()
    const open = Array.from({ length: 40 }, (_, index) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.resume()
      const whole = write('POST', '/api/chat/send', JSON.stringify({ message: canary }))
      socket.write(whole.subarray(0, 5 * index))
      if (index % 3 === 0) socket.end()
      else if (index % 3 === 1) setTimeout(() => socket.resetAndDestroy(), 50)
      return new Promise<void>((resolve) => socket.once('close', () => resolve()))
    })
    await Promise.all(open)
    expect((await countConnections()).connections).to.be.at.most(connections + 1)
  })

  async function countConnections(): Promise<{ connections: number }> {
    // Uses a separate connection, which the service has seen when the response arrives.
    expect((await ask(write('GET', '/healthz'))).status).to.equal(200)
    return { connections: 1 }
  }
})

describe('the shape of a JSON text', () => {
  const childrenOf = (value: unknown): unknown[] =>
    typeof value === 'object' && value !== null ? Object.values(value) : []
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...childrenOf(value).map(depthOf)) : 0
  const countValues = (value: unknown): number =>
    childrenOf(value).reduce((count: number, child) => count + countValues(child), 1)

  it('has the depth and the number of values of the parsed value', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, stringUnit: fc.constantFrom('[', '{', '"', ',', '\\', 'é', '\0') }),
        fc.nat(6),
        fc.integer({ min: 1, max: 30 }),
        fc.boolean(),
        (value, depth, values, spaced) => {
          const text = Buffer.from(JSON.stringify(value, null, spaced ? 2 : 0))
          const isTooDeep = depthOf(value) > depth
          expect(exceededLimit(text, { depth, values: Number.POSITIVE_INFINITY }) === 'depth').to.equal(
            isTooDeep,
          )
          const count = countValues(value)
          const isRefused = exceededLimit(text, { depth: 100, values }) === 'values'
          if (count > values) expect(isRefused).to.equal(true)
          if (2 * count <= values) expect(isRefused).to.equal(false)
        },
      ),
      { numRuns: 3 * (fc.readConfigureGlobal().numRuns ?? 100), examples: [[{ '': [] }, 0, 1, false]] },
    )
  })
})
