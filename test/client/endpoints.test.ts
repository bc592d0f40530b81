import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts'
import { closing, perSuite } from '../support/lifetime.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'

/** A response body that has the required fields of every endpoint. */
const generous = json(200, {
  choices: [{ message: { content: '' } }],
  data: [],
  response: '',
  messages: [],
  success: true,
})

const calls: Record<EndpointName, (client: Client) => Promise<unknown>> = {
  createCompletion: (c) => c.chat.complete({ messages: [{ role: 'user', content: 'hi' }] }),
  listModels: (c) => c.chat.models(),
  sendMessage: (c) => c.chat.send({ message: 'hi', context_id: 'c', stream: true }),
  listHistory: (c) => c.history.page(),
  getProfile: (c) => c.users.profile(),
  updateUserSettings: (c) => c.users.updateSettings({ notifications: { email: true } }),
  getSettings: (c) => c.settings.get(),
  updateSettings: (c) => c.settings.update({ theme: { mode: 'dark' } }),
  getPreferences: (c) => c.settings.preferences(),
  setApiConfiguration: (c) => c.settings.setApi({ version: '1' }),
  createUser: (c) => c.users.create({ email: 'a@example.com', metadata: { k: 1 } }),
  getUser: (c) => c.users.get('u/1'),
  updateUser: (c) => c.users.update('u/1', { settings: { theme: 'x' } }),
  assignPermissions: (c) => c.users.assignPermissions('u/1', { permissions: ['read:chat'] }),
}

describe('the client', () => {
  const server = perSuite(() => startScriptedServer(generous))
  const client = perSuite(() => new Client({ baseUrl: `${server.url}/prefix/`, userAgent: 'chatctl/1.2.3' }))

  for (const [name, call] of Object.entries(calls))
    it(`calls the endpoint ${name}`, async () => {
      await call(client)
      const { method, path, ...endpoint } = endpoints[name as EndpointName]
      const request = server.requests.at(-1)
      expect(request).to.include({ method, path: `/prefix${path.replace('{id}', 'u%2F1')}` })
      expect(request?.headers).to.include({ accept: 'application/json', 'user-agent': 'chatctl/1.2.3' })
      const hasBody = 'request' in endpoint
      expect(request?.headers['content-type']).to.equal(hasBody ? 'application/json' : undefined)
      expect(request?.body).to.equal(hasBody ? JSON.stringify(JSON.parse(request?.body ?? '')) : '')
    })

  it('sends the fields of a body and of a query as they are given', async () => {
    await calls.sendMessage(client)
    expect(server.requests.at(-1)?.body).to.equal('{"message":"hi","context_id":"c"}')
    await calls.createUser(client)
    expect(server.requests.at(-1)?.body).to.equal('{"email":"a@example.com","metadata":{"k":1}}')
    await client.history.page({ context_id: 'a b', limit: 20, before: 'm&1' })
    expect(server.requests.at(-1)?.path).to.equal(
      '/prefix/api/chat/history?context_id=a+b&limit=20&before=m%261',
    )
  })

  it('sends a new request before it has processed all concurrent responses, and opens no new connection', async () => {
    const workers = 8
    const waiting: (() => unknown)[] = []
    const ports = new Set<number | undefined>()
    await using counted = await startScriptedServer((request, response, incoming) => {
      ports.add(incoming.socket.remotePort)
      waiting.push(() => generous(request, response, incoming))
      // All responses leave immediately.
      if (waiting.length === workers) for (const respond of waiting.splice(0)) respond()
    })
    const log: string[] = []
    await using own = closing(
      new Client({ baseUrl: counted.url, observe: ({ type }) => type === 'sent' && log.push(type) }),
    )
    const work = async () => {
      await own.chat.models()
      log.push('processed')
      await own.chat.models()
    }
    await Promise.all(Array.from({ length: workers }, work))
    expect(log.filter((type) => type === 'sent')).to.have.lengthOf(2 * workers)
    expect(log.indexOf('sent', workers)).to.be.lessThan(log.lastIndexOf('processed'))
    expect(ports).to.have.lengthOf(workers)
  })
})
