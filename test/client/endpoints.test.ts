import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { json, startFaultServer } from '../support/fault-server.ts'
import { perSuite } from '../support/lifetime.ts'

/** A response body that has the required fields of every endpoint. */
const generous = json(200, {
  choices: [{ message: { content: '' } }],
  data: [],
  response: '',
  messages: [],
  success: true,
})

const calls: [string, (client: Client) => Promise<unknown>, string, string, unknown][] = [
  [
    'createCompletion',
    (c) => c.chat.complete({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    'POST',
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  ],
  ['listModels', (c) => c.chat.models(), 'GET', '/v1/chat/models', undefined],
  [
    'sendMessage',
    (c) => c.chat.send({ message: 'hi', context_id: 'c', stream: true }),
    'POST',
    '/api/chat/send',
    { message: 'hi', context_id: 'c' },
  ],
  [
    'listHistory',
    (c) => c.history.page({ context_id: 'a b', limit: 20, before: 'm&1' }),
    'GET',
    '/api/chat/history?context_id=a+b&limit=20&before=m%261',
    undefined,
  ],
  ['getProfile', (c) => c.users.profile(), 'GET', '/api/user/profile', undefined],
  [
    'updateUserSettings',
    (c) => c.users.updateSettings({ notifications: { email: true } }),
    'PUT',
    '/api/user/settings',
    { notifications: { email: true } },
  ],
  ['getSettings', (c) => c.settings.get(), 'GET', '/v1/settings', undefined],
  [
    'updateSettings',
    (c) => c.settings.update({ theme: { mode: 'dark' } }),
    'PATCH',
    '/v1/settings',
    { theme: { mode: 'dark' } },
  ],
  ['getPreferences', (c) => c.settings.preferences(), 'GET', '/v1/settings/preferences', undefined],
  [
    'setApiConfiguration',
    (c) => c.settings.setApi({ version: '1' }),
    'POST',
    '/v1/settings/api',
    { version: '1' },
  ],
  [
    'createUser',
    (c) => c.users.create({ email: 'a@example.com', metadata: { k: 1 } }),
    'POST',
    '/v1/users',
    { email: 'a@example.com', metadata: { k: 1 } },
  ],
  ['getUser', (c) => c.users.get('u/1'), 'GET', '/v1/users/u%2F1', undefined],
  [
    'updateUser',
    (c) => c.users.update('u1', { settings: { theme: 'x' } }),
    'PATCH',
    '/v1/users/u1',
    { settings: { theme: 'x' } },
  ],
  [
    'assignPermissions',
    (c) => c.users.assignPermissions('u1', { permissions: ['read:chat'] }),
    'POST',
    '/v1/users/u1/permissions',
    { permissions: ['read:chat'] },
  ],
]

describe('the client', () => {
  const server = perSuite(() => startFaultServer(generous))
  const client = perSuite(() => new Client({ baseUrl: `${server.url}/prefix/`, userAgent: 'chatctl/1.2.3' }))

  for (const [name, call, method, path, body] of calls) {
    it(`calls ${name} as ${method} ${path}`, async () => {
      await call(client)
      const request = server.requests.at(-1)
      expect(request).to.include({ method, path: `/prefix${path}` })
      expect(request?.body ? JSON.parse(request.body) : undefined).to.deep.equal(body)
      expect(request?.headers).to.include({ accept: 'application/json', 'user-agent': 'chatctl/1.2.3' })
      expect(request?.headers['content-type']).to.equal(body === undefined ? undefined : 'application/json')
    })
  }

  it('has a case above for every endpoint', () => {
    expect(calls.map(([name]) => name)).to.have.members(Object.keys(endpoints))
  })

  it('uses one connection for consecutive requests', async () => {
    const ports = new Set<number | undefined>()
    const counted = await startFaultServer((request, response, incoming) => {
      ports.add(incoming.socket.remotePort)
      return generous(request, response, incoming)
    })
    const own = new Client({ baseUrl: counted.url })
    for (const [, call] of calls) await call(own)
    expect(ports).to.have.lengthOf(1)
    await own.close()
    await counted.close()
  })

  it('sends a new request before it has processed all concurrent responses, and opens no new connection', async () => {
    const workers = 8
    const waiting: (() => unknown)[] = []
    const ports = new Set<number | undefined>()
    const counted = await startFaultServer((request, response, incoming) => {
      ports.add(incoming.socket.remotePort)
      waiting.push(() => generous(request, response, incoming))
      // All responses leave at once.
      if (waiting.length === workers) for (const respond of waiting.splice(0)) respond()
    })
    const log: string[] = []
    const own = new Client({ baseUrl: counted.url, observe: ({ type }) => type === 'sent' && log.push(type) })
    const work = async () => {
      await own.chat.models()
      log.push('processed')
      await own.chat.models()
    }
    await Promise.all(Array.from({ length: workers }, work))
    expect(log.filter((type) => type === 'sent')).to.have.lengthOf(2 * workers)
    expect(log.indexOf('sent', workers)).to.be.lessThan(log.lastIndexOf('processed'))
    expect(ports).to.have.lengthOf(workers)
    await own.close()
    await counted.close()
  })
})
