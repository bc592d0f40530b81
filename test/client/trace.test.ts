import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { ClientEvent } from '../../src/client/client-event.ts'
import { Trace, type TraceEvent } from '../../src/client/trace.ts'
import { answer, failing, json, limited, redirect, reset, sse, stream } from '../support/scripted-server.ts'
import { hurriedClock } from './capture.ts'
import { scriptedClient } from './scripted-client.ts'

const canary = 'sk-canary-4f1e92c07a'
/** Bytes that are shown of a body. */
const shown = 16 * 1024

describe('a trace', () => {
  let events: TraceEvent[]
  let trace: Trace
  const { client, start } = scriptedClient(() => {
    events = []
    trace = new Trace((event) => events.push(event))
    return { credential: canary, internal: { clock: hurriedClock(), openTrace: async () => trace } }
  })
  const send = (body?: string, headers = {}) =>
    client.send({ method: body === undefined ? 'GET' : 'POST', path: '/x', headers, ...(body && { body }) })
  const typesOf = () => events.map(({ type }) => type)
  function eventOf<T extends TraceEvent['type']>(type: T): Extract<TraceEvent, { type: T }> {
    const found = events.findLast((event) => event.type === type)
    if (!found) throw new Error(`no ${type} in ${typesOf()}`)
    return found as Extract<TraceEvent, { type: T }>
  }

  afterEach(() => {
    expect(JSON.stringify(events)).not.to.contain('canary')
  })

  it('has each request and response, with headers and bodies', async () => {
    await start(json(201, { id: 1.5 }, { 'x-one': '1' }))
    await send('{"a": 1}', { 'x-two': '2' })
    expect(typesOf()).to.deep.equal(['request', 'response'])
    expect(eventOf('request')).to.deep.include({ method: 'POST', attempt: 1 })
    expect(eventOf('request').headers).to.include({ 'x-two': '2', authorization: '[redacted]' })
    expect(eventOf('request').body).to.deep.equal({ text: '{"a": 1}', length: 8, omitted: 0 })
    expect(eventOf('response')).to.deep.include({ status: 201, statusText: 'Created' })
    expect(eventOf('response').headers).to.include({ 'x-one': '1' })
    expect(eventOf('response').body).to.deep.equal({ text: '{"id":1.5}', length: 10, omitted: 0 })
  })

  it('has each redirect, rate limit, and retry', async () => {
    await start([
      redirect(307, '/y'),
      limited({ 'retry-after': '1' }),
      failing(503, 'x', 'x'),
      reset,
      json(200, {}),
    ])
    await send()
    expect(typesOf().join(' ')).to.equal(
      'request response request response retry request response retry request retry request response',
    )
    const requests = events.flatMap((event) =>
      event.type === 'request' ? [new URL(event.url).pathname] : [],
    )
    expect(requests).to.deep.equal(['/x', '/y', '/y', '/y', '/y'])
    expect(events.flatMap((event) => (event.type === 'retry' ? [event.reason] : []))).to.deep.equal([
      '429 Too Many Requests',
      '503 Service Unavailable',
      'connection reset',
    ])
  })

  it('has no secret that a request contains or a response repeats', async () => {
    await start((request, response) => {
      const said = `${request.headers['x-api-key']} ${request.body} ${JSON.stringify(request.body)} ${request.path}`
      const { authorization = '' } = request.headers
      answer(200, { 'x-you-said': authorization, location: request.path }, said)(
        request,
        response,
        response.req,
      )
    })
    const body = JSON.stringify({ password: 'canary "1"\\', list: [{ api_key: 'canary-2', open: 'yes' }] })
    await client.send({
      method: 'POST',
      path: '/x?access_token=canary-3&limit=3',
      headers: { 'X-Api-Key': 'canary-4' },
      body,
    })
    expect(eventOf('request').body.text).to.equal(
      '{"password":"[redacted]","list":[{"api_key":"[redacted]","open":"yes"}]}',
    )
    expect(eventOf('request').url).to.match(/access_token=redacted&limit=3$/)
  })

  it('has no short secret that a response repeats as a word', async () => {
    await start(answer(422, {}, 'pw1+x is weak, pw1+xy is not, and neither is "a(b"'))
    await send(JSON.stringify({ password: 'pw1+x', pin: 'a(b' }))
    expect(eventOf('response').body?.text).to.equal(
      '[redacted] is weak, pw1+xy is not, and neither is "[redacted]"',
    )
  })

  it('has no secret of a form, as a token endpoint receives it', async () => {
    await start(json(200, { access_token: 'canary-1', token_type: 'bearer', expires_in: 5 }))
    const form = 'grant_type=authorization_code&code=canary-2&code_verifier=canary-3'
    await send(form, { 'content-type': 'application/x-www-form-urlencoded' })
    expect(eventOf('request').body.text).to.equal(
      'grant_type=authorization_code&code=[redacted]&code_verifier=[redacted]',
    )
    expect(eventOf('response').body?.text).to.equal(
      '{"access_token":"[redacted]","token_type":"bearer","expires_in":5}',
    )
  })

  it('bounds a body, and says how many bytes are omitted', async () => {
    await start(answer(200, {}, 'x'.repeat(shown + 1)))
    await send(`"${'y'.repeat(shown * 3)}"`)
    expect(eventOf('request').body).to.deep.include({ length: shown * 3 + 2, omitted: shown * 2 + 2 })
    expect(eventOf('request').body.text).to.have.lengthOf(shown)
    expect(eventOf('response').body).to.deep.include({ length: shown + 1, omitted: 1 })
  })

  for (const offset of [-30, -20, -10, -1, 0, 1])
    it(`shows no part of a secret that begins ${-offset} bytes before the bound`, async () => {
      await start((request, response) => {
        const before = `${'x'.repeat(shown + offset)}`
        answer(200, {}, `${before}${canary}${'y'.repeat(5000)}`)(request, response, response.req)
      })
      await send()
      expect(eventOf('response').body?.text).not.to.contain('sk-')
      await start((_, response) => {
        const before = `{"a":"${'x'.repeat(shown + offset - 20)}","password":"`
        response.end(`${before}canary-canary-canary-canary"${' '.repeat(5000)}}`)
      })
      await send()
    })

  it('cuts a text between characters', async () => {
    await start(answer(200, {}, `${'x'.repeat(shown - 1)}ü€`))
    await send()
    expect(eventOf('response').body?.text).to.equal('x'.repeat(shown - 1))
  })

  for (const [what, headers, body] of [
    ['binary', {}, Uint8Array.from([0, 1, 2, 255])],
    ['in another encoding', {}, Buffer.from('ü', 'latin1')],
    ['compressed', { 'content-encoding': 'gzip' }, gzipSync('x')],
  ] as const)
    it(`only counts the bytes of a body that is ${what}`, async () => {
      await start(answer(200, headers, body))
      await send()
      expect(eventOf('response').body).to.deep.equal({
        text: undefined,
        length: body.length,
        omitted: body.length,
      })
    })

  describe('of a stream', () => {
    async function read(): Promise<string> {
      const reply = await client.chat.stream({ message: 'hi' })
      let text = ''
      for await (const event of reply) if (event.type === 'delta') text += event.text
      trace.finish()
      return text
    }

    it('has its body when it has ended, and does not change it', async () => {
      await start(sse([{ delta: 'a' }, { delta: 'b', api_key: 'canary' }]))
      expect(await read()).to.equal('ab')
      expect(typesOf()).to.deep.equal(['request', 'response', 'stream'])
      expect(eventOf('response').body).to.equal(undefined)
      expect(eventOf('stream').body.text).to.equal(
        'data: {"delta":"a"}\n\ndata: {"delta":"b","api_key":"[redacted]"}\n\ndata: [DONE]\n\n',
      )
    })

    it('has the part that arrived before it was interrupted', async () => {
      await start(stream(['data: {"delta":"a"}\n\n'], { ending: 'reset' }))
      await read()
      expect(eventOf('stream')).to.deep.include({ end: 'interrupted', chunks: 1 })
    })

    it('is bounded, and counts all bytes', async () => {
      const part = `data: ${JSON.stringify({ delta: 'x'.repeat(1000) })}\n\n`
      await start(stream(Array.from({ length: 40 }, () => part)))
      expect(await read()).to.have.lengthOf(40_000)
      const { length, omitted, text } = eventOf('stream').body
      expect({ length, omitted }).to.deep.equal({
        length: part.length * 40,
        omitted: part.length * 40 - shown,
      })
      expect(text).to.have.lengthOf(shown)
    })
  })
})

describe('an event of the client', () => {
  const { client, start } = scriptedClient(() => ({ internal: { clock: hurriedClock() } }))

  it('has the URL of its request, and the headers about limits', async () => {
    const events: ClientEvent[] = []
    await start(json(200, {}, { 'ratelimit-limit': '5', 'x-one': '1' }), {
      observe: (event) => events.push(event),
    })
    await client.settings.get()
    for (const { url } of events) expect(new URL(url).pathname).to.equal('/v1/settings')
    const response = events.find((event) => event.type === 'response')
    expect(response?.limits).to.have.all.keys('date', 'ratelimit-limit')
  })
})
