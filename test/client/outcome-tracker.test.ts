import { expect } from 'chai'
import type { RequestOutcome } from '../../src/contract/failure.ts'
import { failing, json, redirect, silent, sse } from '../support/scripted-server.ts'
import { scriptedClient } from './scripted-client.ts'

describe('the function that the gate returns', () => {
  let outcomes: RequestOutcome[] = []
  let urls: (string | undefined)[] = []
  beforeEach(() => {
    outcomes = []
    urls = []
  })
  const scripted = scriptedClient(() => ({
    credential: 'some-key',
    gate: () => (outcome) => {
      const { url, ...rest } = JSON.parse(JSON.stringify(outcome))
      outcomes.push(rest)
      urls.push(url)
    },
  }))
  const { client } = scripted

  it('is called once with the status, the ID of the request, and the ID of the created user', async () => {
    await scripted.start(json(201, { id: 'u1' }, { 'x-request-id': 'r1' }))
    await client.users.create({ email: 'ada@example.com' })
    expect(outcomes).to.deep.equal([{ outcome: 'done', status: 201, requestId: 'r1', createdId: 'u1' }])
  })

  it('is called for a response that is no failure of the call', async () => {
    await scripted.start([failing(404, 'not_found', 'no'), failing(500, 'down', 'no')])
    await client.send({ method: 'DELETE', path: '/v1/x' })
    await client.send({ method: 'DELETE', path: '/v1/x' })
    expect(outcomes).to.deep.equal([
      { outcome: 'refused', status: 404, error: 'not_found' },
      { outcome: 'unknown', status: 500, error: 'server_error' },
    ])
  })

  it('is called once for a request that is redirected', async () => {
    await scripted.start([redirect(307, '/v1/other'), json(200, {})])
    await client.users.update('u1', { name: 'Ada' })
    expect(outcomes).to.deep.equal([{ outcome: 'done', status: 200 }])
    expect(urls).to.deep.equal([`${scripted.server.url}/v1/other`])
  })

  it('is called with an unknown outcome after a redirect that does not tell whether the change was made', async () => {
    await scripted.start(redirect(303, '/v1/other'))
    await client.users.update('u1', { name: 'Ada' }).catch(() => {})
    expect(outcomes).to.deep.equal([{ outcome: 'unknown', status: 303, error: 'unknown_outcome' }])
  })

  it('is called once for a request that is sent again with another credential', async () => {
    await scripted.start([failing(401, 'unauthorized', 'no'), json(200, {})], {
      credential: async (rejected) => (rejected === undefined ? 'old-key' : 'new-key'),
    })
    await client.users.update('u1', { name: 'Ada' })
    expect(scripted.server.requests).to.have.length(2)
    expect(outcomes).to.deep.equal([{ outcome: 'done', status: 200 }])
  })

  it('is called when a stream begins', async () => {
    await scripted.start(sse([{ delta: 'Hi' }]))
    await client.chat.stream({ message: 'Hello' })
    expect(outcomes).to.deep.equal([{ outcome: 'done', status: 200 }])
  })

  it('is called with an unknown outcome if a request is aborted after it was sent', async () => {
    const controller = new AbortController()
    await scripted.start(
      (request, response, incoming) => {
        controller.abort(new Error('enough'))
        return silent(request, response, incoming)
      },
      { signal: controller.signal },
    )
    await client.users.update('u1', { name: 'Ada' }).catch(() => {})
    expect(outcomes).to.deep.equal([{ outcome: 'unknown', error: 'interrupted' }])
  })

  it('is called with refused if no credential can be read', async () => {
    await scripted.start(json(200, {}), {
      credential: () => Promise.reject(new Error('locked')),
    })
    await client.users.update('u1', { name: 'Ada' }).catch(() => {})
    expect(outcomes).to.deep.equal([{ outcome: 'refused', error: 'interrupted' }])
    expect(scripted.server.requests).to.deep.equal([])
    expect(urls).to.deep.equal([undefined])
  })
})
