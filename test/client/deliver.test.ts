import { expect } from 'chai'
import type { RequestOutcome } from '../../src/contract/failure.ts'
import {
  answer,
  type Behavior,
  failing,
  json,
  limited,
  redirect,
  reset,
  shortBody,
  silent,
  sse,
  thenClosed,
  webPage,
} from '../support/scripted-server.ts'
import { failureOf, hurriedClock } from './capture.ts'
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

  it('is called with a success if only a field of a raw response is named error', async () => {
    await scripted.start([json(200, { job: 7, error: 'none' }), json(200, { success: false })])
    await client.send({ method: 'PATCH', path: '/x' })
    await client.send({ method: 'PATCH', path: '/x' })
    expect(outcomes.map(({ outcome }) => outcome)).to.deep.equal(['done', 'refused'])
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
    expect(outcomes).to.deep.equal([{ outcome: 'unknown', status: 303, error: 'rejected' }])
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

  const closing = (behavior: Behavior) => thenClosed(scripted.server, behavior)
  const stored = (isStored: boolean) =>
    json(503, { error: { code: 'full', message: 'no', details: { stored: isStored } } })
  const down = failing(500, 'down', 'no')
  const denied = failing(403, 'forbidden', 'no')
  const unauthorized = failing(401, 'unauthorized', 'no')
  const elsewhere = redirect(308, 'http://127.0.0.1:9/')
  const tooLong = { 'retry-after': '900' }
  const unreached = ['refused', 'unreachable', 'Cannot reach'] as const
  const unknown = ['unknown', 'unknown_outcome'] as const

  for (const [method, what, script, outcome, kind, message] of [
    ['PUT', '500, and nothing listens', [closing(down)], ...unknown, 'cannot reach'],
    ['PUT', '503 with nothing stored, and nothing listens', [closing(stored(false))], ...unreached],
    [
      'PUT',
      '503 with a part stored, and nothing listens',
      [closing(stored(true))],
      ...unknown,
      'cannot reach',
    ],
    ['PUT', '429, and nothing listens', [closing(limited())], ...unreached],
    ['POST', '429, and nothing listens', [closing(limited())], ...unreached],
    ['PUT', '307, and nothing listens', [closing(redirect(307, '/y'))], ...unreached],
    ['PUT', 'a lost response, 500, and 403', [reset, down, denied], ...unknown, 'no'],
    ['PUT', 'a lost response, 429, and 403', [reset, limited(), denied], ...unknown, 'no'],
    ['PUT', 'a truncated response, and 401', [shortBody(), unauthorized], ...unknown, 'no'],
    ['PUT', '500, and a redirect to another origin', [down, elsewhere], ...unknown, ''],
    ['PUT', '500, and a rate limit for too long', [down, limited(tooLong)], ...unknown, ''],
    ['PUT', 'a lost response, and 200', [reset, json(200, {})], 'done'],
    [
      'PUT',
      'a lost response, and a failure with status 200',
      [reset, json(200, { success: false })],
      'unknown',
    ],
    ['PATCH', 'a failure with status 200', json(200, { success: false }), 'refused'],
    ['PATCH', 'a web page', webPage, 'unknown'],
    ['PATCH', '302', redirect(302, '/y'), ...unknown, 'HTTP 302'],
    ['PATCH', '301', answer(301), 'refused', 'rejected', 'HTTP 301'],
    ['PATCH', 'a lost response', reset, 'unknown', 'unreachable', 'No response'],
    ['PATCH', '503 for too long', failing(503, 'down', 'no', tooLong), 'unknown', 'server_error', 'no'],
    ['GET', '500, and nothing listens', [closing(down)], ...unreached],
  ] as [string, string, Behavior | Behavior[], string, string?, string?][])
    it(`agrees with the failure of a ${method} after ${what}: ${outcome}`, async () => {
      await scripted.start(script, { internal: { clock: hurriedClock() } })
      const sent = client.request({ method, path: '/x' })
      if (kind === undefined) await sent
      else {
        const failure = await failureOf(sent)
        expect(failure).to.include({ kind, isOutcomeUnknown: outcome === 'unknown' })
        const begin = kind === 'unknown_outcome' ? 'The outcome of the change is unknown: ' : ''
        expect(failure.message.startsWith(`${begin}${message}`), failure.message).to.equal(true)
        expect(failure.hint ?? '').to.match(outcome === 'unknown' ? /may have taken effect/ : /^(?!.*effect)/)
      }
      expect(outcomes.map((one) => one.outcome)).to.deep.equal([outcome])
    })

  it('is called with an unknown outcome if a retry is aborted', async () => {
    const controller = new AbortController()
    const clock = hurriedClock()
    const sleep = async () => controller.abort(new Error('enough'))
    await scripted.start(down, { signal: controller.signal, internal: { clock: { ...clock, sleep } } })
    await client.request({ method: 'PUT', path: '/x' }).catch(() => {})
    expect(outcomes).to.deep.equal([{ outcome: 'unknown', error: 'interrupted' }])
  })

  it('is called with an unknown outcome if the credential for a retry cannot be read', async () => {
    await scripted.start([reset, failing(401, 'unauthorized', 'no')], {
      credential: async (rejected) => {
        if (rejected !== undefined) throw new Error('locked')
        return 'old-key'
      },
      internal: { clock: hurriedClock() },
    })
    await client.request({ method: 'PUT', path: '/x' }).catch(() => {})
    expect(outcomes).to.deep.equal([{ outcome: 'unknown', error: 'interrupted' }])
  })
})
