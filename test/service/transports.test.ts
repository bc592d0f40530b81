import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import type { RawRequest } from '../../src/client/outgoing-request.ts'
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts'
import { openEmbeddedService } from '../../src/service/open-embedded-service.ts'
import { type RunningService, startService } from '../../src/service/start-service.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { someCells } from '../support/cells.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perSuite } from '../support/lifetime.ts'
import { halfReply, withModelServer } from '../support/model-server.ts'
import { SteppedClock } from '../support/stepped-clock.ts'
import { until } from '../support/until.ts'
import { plantKey, plantUser } from './domain/plant-key.ts'
import { soundCall } from './service-calls.ts'

/** `limited` is counted, and may do everything; `powerless` has no permission. */
const keyNames = ['admin', 'limited', 'powerless', 'unknown'] as const
type KeyName = (typeof keyNames)[number]

/** A client of one service, as commands use it, with one of several keys. */
interface Side {
  send(key: KeyName | undefined, request: RawRequest): Promise<{ status: number; text: string }>
  admin: Client
  /** Closes the service. */
  stop(): Promise<void>
  close(): Promise<void>
}

interface PlantedKeys {
  limited: string
  powerless: string
}

async function plantKeys(dataDir: string): Promise<PlantedKeys> {
  const store = openSqlite(dataDir)
  await plantUser(store.db, { id: 'usr_someone', email: 'someone@example.com' })
  const limited = await plantKey(store.db, { id: 'key_limited', hourly_limit: 2 })
  const powerless = await plantKey(store.db, { id: 'key_powerless', permissions: '[]' })
  const at = '2026-01-01T00:00:00.000Z'
  await store.db.updateTable('users').set({ created_at: at, updated_at: at }).execute()
  await store.close()
  return { limited: limited.key, powerless: powerless.key }
}

/** Two services with the same data and the same time. */
class BothSides {
  readonly #dirs = [makeEmptyDirectory(), makeEmptyDirectory()] as const
  #sides: Side[] = []

  async open(modelServer?: { url: string }): Promise<this> {
    const [one, other] = [this.#dirs[0].path, this.#dirs[1].path]
    const clock = new SteppedClock()
    const overHttp = await startService({ dataDir: one, clock, modelServer })
    const inProcess = await openEmbeddedService({ dataDir: other, clock, modelServer })
    const address = { baseUrl: 'http://localhost', internal: { openHandler: async () => inProcess.request } }
    this.#sides = [
      sideOf(overHttp, overHttp.createProcessKey(), await plantKeys(one), { baseUrl: overHttp.url }),
      sideOf(inProcess, inProcess.key, await plantKeys(other), address),
    ]
    return this
  }

  /** The result of an action on both sides, which must be the same. */
  async both<T>(act: (side: Side) => Promise<T>): Promise<T> {
    const [overHttp, inProcess] = await Promise.all(this.#sides.map(act))
    expect(inProcess).to.deep.equal(overHttp)
    return inProcess as T
  }

  async close(): Promise<void> {
    for (const side of this.#sides) await side.close()
    for (const directory of this.#dirs) directory.remove()
  }
}

function sideOf(
  service: Pick<RunningService, 'close'>,
  key: string,
  planted: PlantedKeys,
  address: Pick<ConstructorParameters<typeof Client>[0], 'baseUrl' | 'internal'>,
): Side {
  const keys = { ...planted, admin: key, unknown: 'ck_unknown' }
  const clientWith = (credential: string | undefined) =>
    new Client({ ...address, credential, retries: 0, maxWait: 0 })
  const clients = new Map([undefined, ...keyNames].map((name) => [name, clientWith(name && keys[name])]))
  const admin = clientWith(keys.admin)
  clients.set('admin', admin)
  return {
    admin,
    async send(name, request) {
      const client = clients.get(name)
      if (!client) throw new Error(`no client for ${name}`)
      const { status, statusText, headers, text } = await client.send(request)
      return { status, statusText, headers: comparable(headers), text: withoutIds(text) }
    },
    stop: () => service.close(),
    async close() {
      for (const client of clients.values()) await client.close()
      await service.close()
    },
  }
}

/** Headers of the connection and the time, which only HTTP has. */
const ofConnection = ['connection', 'date', 'keep-alive', 'transfer-encoding']

const comparable = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !ofConnection.includes(name))
      .map(([name, value]) => [name, name === 'x-settings-serial' ? '…' : withoutIds(value)]),
  )

/** Identifiers are random, and a serial is the time of a change. */
const withoutIds = (text: string) => text.replace(/\b(usr|ctx|msg|key|req|chatcmpl)_[0-9a-z]{26}\b/g, '$1_…')

const sound = (name: EndpointName) => {
  const { method, path, body } = soundCall(name, 'usr_someone')
  return { method, path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
}

const page = 'https://page.example'
const tooLarge = Buffer.alloc(4 * 1024 * 1024 + 1, ' ')
type Unusual = Omit<RawRequest, 'method' | 'path'> & { key?: KeyName | undefined }
const unusual: [title: string, line: string, Unusual?][] = [
  ['an unknown path of the interface', 'GET /v1/nowhere'],
  ['an unknown path without a key', 'GET /v1/nowhere', { key: undefined }],
  ['an unknown path elsewhere without a key', 'POST /elsewhere', { body: '{', key: undefined }],
  ['a path with a slash at the end', 'GET /v1/settings/'],
  ['an empty identifier', 'GET /v1/users/'],
  ['an encoded path', 'GET /%76%31/settings'],
  ['an encoded slash in an identifier', 'GET /v1/users/a%2Fb'],
  ['an invalid percent-encoding', 'GET /v1/users/%zz'],
  ['an unknown user', 'GET /v1/users/nobody'],
  ['a long path', `GET /v1/users/${'u'.repeat(10_000)}`],
  ['an unknown parameter', 'GET /v1/settings?a=1&a=2&b'],
  ['parameters of the history', 'GET /api/chat/history?limit=5'],
  ['an invalid parameter', 'GET /api/chat/history?limit=0&limit=1'],
  ['an invalid percent-encoding in the query', 'GET /api/chat/history?cursor=%zz'],
  ['HEAD', 'HEAD /v1/settings'],
  ['HEAD of a path without GET', 'HEAD /v1/users'],
  ['OPTIONS', 'OPTIONS /v1/settings'],
  ['a method of WebDAV', 'PROPFIND /v1/settings'],
  [
    'a preflight',
    'OPTIONS /v1/settings',
    { headers: { origin: page, 'access-control-request-method': 'PATCH' }, key: undefined },
  ],
  ['a request of a page', 'GET /v1/settings', { headers: { origin: page } }],
  ['an own request id', 'GET /v1/settings', { headers: { 'x-request-id': 'mine.1' } }],
  ['an unsafe request id', 'GET /v1/settings', { headers: { 'x-request-id': 'a b' } }],
  ['a GET request with a body', 'GET /v1/settings', { body: '{' }],
  ['no body', 'POST /v1/users'],
  ['a body of another type', 'POST /v1/users', { body: 'a', headers: { 'content-type': 'text/plain' } }],
  ['a compressed body', 'POST /v1/users', { body: '{}', headers: { 'content-encoding': 'gzip' } }],
  ['a body that is not UTF-8', 'PATCH /v1/settings', { body: new Uint8Array([0x22, 0xff, 0x22]) }],
  ['a body with a key __proto__', 'PATCH /v1/settings', { body: '{"__proto__":{}}' }],
  [
    'a body with an exact number',
    'POST /v1/users',
    {
      body: '{"email":"exact@example.com","password":"long enough","metadata":{"n":12345678901234567890.1}}',
    },
  ],
  ['a streamed reply', 'POST /api/chat/send', { body: '{"message":"Hello","stream":true}' }],
  [
    'a streamed reply that cannot begin',
    'POST /api/chat/send',
    { body: '{"message":"Hello","stream":true,"model":"none"}' },
  ],
  ['the health check', 'GET /healthz?x=1', { key: undefined }],
  ['HEAD of the readiness check', 'HEAD /readyz', { key: undefined }],
  ['POST to the readiness check', 'POST /readyz', { body: 'x', key: 'unknown' }],
]

describe('the service in this process', () => {
  const sides = perSuite(() => new BothSides().open())
  const expectSame = (key: KeyName | undefined, request: RawRequest) =>
    sides.both((side) => side.send(key, request))

  for (const name of Object.keys(endpoints) as EndpointName[])
    it(`responds to ${name} as over HTTP`, async () => {
      const request = sound(name)
      const { method, path } = request
      const hasBody = method !== 'GET'
      expect((await expectSame('admin', request)).status).to.be.oneOf([200, 201])
      await expectSame('admin', request)
      expect((await expectSame(undefined, request)).status).to.equal(401)
      expect((await expectSame('unknown', request)).status).to.equal(401)
      const isAlwaysGranted = path.startsWith('/api/user/profile')
      if (!isAlwaysGranted) expect((await expectSame('powerless', request)).status).to.be.oneOf([200, 403])
      expect((await expectSame('admin', { method: 'DELETE', path })).status).to.equal(405)
      expect((await expectSame('admin', { ...request, path: `${path}?surplus=1` })).status).to.equal(400)
      if (!hasBody) return
      for (const body of ['{', '[]', 'null', '{"message":1,"messages":1,"email":1,"limits":1,"theme":1}'])
        expect((await expectSame('admin', { method, path, body })).status).to.equal(400)
      for (const body of someCells([tooLarge], () => name === 'sendMessage'))
        expect((await expectSame('admin', { method, path, body })).status).to.equal(413)
    })

  for (const [title, line, more = {}] of unusual) {
    const [method = '', path = ''] = line.split(' ')
    it(`responds to ${title} as over HTTP`, () =>
      expectSame('key' in more ? more.key : 'admin', { method, path, ...more }))
  }

  it('limits requests as over HTTP', async () => {
    const statuses: number[] = []
    const ask = async (request: RawRequest) => statuses.push((await expectSame('limited', request)).status)
    await ask({ method: 'GET', path: '/v1/settings' })
    await ask({ method: 'GET', path: '/v1/nowhere' })
    await ask({ method: 'GET', path: '/v1/settings' })
    await ask({ method: 'POST', path: '/v1/users', body: '{' })
    expect(statuses).to.deep.equal([200, 404, 429, 429])
  })

  it('stores the part of a reply that arrived before its reader left, as over HTTP', () =>
    withModelServer(halfReply().serve, async ({ url }) => {
      const sides = await new BothSides().open({ url })
      const left = await sides.both(async ({ admin, send }) => {
        const leaving = new AbortController()
        const texts: string[] = []
        const reply = await admin.chat.stream({ message: 'Hello', model: 'm1' }, { signal: leaving.signal })
        try {
          for await (const event of reply) {
            if (event.type === 'delta') texts.push(event.text)
            leaving.abort(new Error('left'))
          }
        } catch (error) {
          texts.push(`${error}`)
        }
        const history = async () => (await send('admin', { method: 'GET', path: '/api/chat/history' })).text
        await until(async () => (await history()).includes('half'))
        return { texts, stored: await history() }
      })
      expect(left.texts.join()).to.equal('half,Error: left')
      expect(left.stored).to.match(/"content":"half".*"incomplete":true/)
      await sides.close()
    }))

  it('lets a request in progress end when it closes', async () => {
    const half = halfReply()
    await withModelServer(half.serve, async ({ url }) => {
      const sides = new BothSides()
      await sides.open({ url })
      const text = await sides.both(async ({ admin, stop }) => {
        const reply = await admin.chat.stream({ message: 'Hello', model: 'm1' })
        const texts: string[] = []
        for await (const event of reply) {
          if (event.type !== 'delta') continue
          if (texts.push(event.text) > 1) continue
          void stop()
          half.finish()
        }
        return texts.join('')
      })
      expect(text).to.equal('half and half')
      await sides.close()
    })
  })
})
