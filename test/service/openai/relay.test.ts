import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import type { RecordedRequest, ScriptedServer } from '../../support/scripted-server.ts'
import { allEvents, readEvents } from '../read-events.ts'
import { type TemporaryService, withModel, withService } from '../temporary-service.ts'

const path = '/openai/v1/chat/completions'
const messages = [{ role: 'user', content: 'hello' }]
const ask = { model: 'm1', messages }
const streamed = { ...ask, stream: true }
const key = 'sk-up-7f3a'

/** A service whose model server responds to completions as the script says. */
const withRelay = (
  complete: (response: ServerResponse, request: RecordedRequest) => unknown,
  use: (service: TemporaryService, modelServer: ScriptedServer) => Promise<unknown>,
) =>
  withModelServer(complete, (modelServer) =>
    withService((service) => use(service, modelServer), { modelServer: { url: modelServer.url, key } }),
  )

/** The data of each event of a stream. */
const stream = async ({ open }: TemporaryService, request: object) =>
  (await allEvents(await open('POST', path, request))).map(({ data }) => data)

const sendData = (response: ServerResponse, ...data: object[]) => {
  for (const one of data) response.write(`data: ${JSON.stringify(one)}\n\n`)
}

const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }

describe('a request of an OpenAI client', () => {
  const completion = {
    id: 'x',
    model: 'm1-7b',
    choices: [{ index: 0, message: { content: 'hi' } }],
    extra: 1,
  }

  it('reaches the model server unchanged, with every parameter, but no header of the client', () =>
    withRelay(
      (response) => sendJson(response, completion),
      async (service, { requests }) => {
        const sent = {
          model: 'm1',
          messages: [
            { role: 'developer', content: 'Be brief' },
            {
              role: 'user',
              content: [
                { type: 'text', text: 'What is it?' },
                { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
              ],
            },
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'call_1', content: '3' },
          ],
          tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
          tool_choice: 'required',
          response_format: { type: 'json_object' },
          max_completion_tokens: 7,
          seed: 3,
          top_k: 40,
          unknown_field: { deep: [false] },
          // As JSON has it, and not the prototype of an object.
          schema: JSON.parse('{"__proto__":{"type":"object"},"constructor":{"prototype":1}}'),
        }
        await service.call('POST', path, sent, { cookie: 'canary=1', 'x-stainless-lang': 'js' })
        expect(JSON.parse(requests[0]?.body ?? '')).to.deep.equal(sent)
        expect(requests[0]?.body).to.include('"schema":{"__proto__":{"type":"object"}')
        expect(requests[0]?.headers.authorization).to.equal(`Bearer ${key}`)
        expect(JSON.stringify(requests[0]?.headers)).not.to.match(/canary|stainless|ck_/)
      },
    ))

  it('keeps every number as it was written, also in the response', () => {
    const body = '{"id": "x", "choices":[{"index":0,"message":{"content":"hi"},"weight":-1.50}], "n":1e400}'
    return withRelay(
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body),
      async (service, { requests }) => {
        const request = `{"model":"m1","messages":[],"seed":9007199254740993,"top_p":1.0}`
        const { status, text } = await service.call('POST', path, request)
        expect([status, text]).to.deep.equal([200, body])
        expect(requests.at(-1)?.body).to.include('"seed":9007199254740993,"top_p":1.0')
      },
    )
  })

  it('gets the default model, and at most the tokens that the settings allow', () =>
    withRelay(
      (response) => sendJson(response, completion),
      async (service, { requests }) => {
        const { status } = await service.call('PATCH', '/v1/settings', { limits: { max_tokens: 50 } })
        expect(status).to.equal(200)
        for (const given of [
          {},
          { max_tokens: null },
          { max_tokens: 51 },
          { max_completion_tokens: 1e9, max_tokens: 5 },
          { n_predict: 51, max_tokens: null },
          { max_tokens: 5, Max_Tokens: 51 },
        ])
          await service.call('POST', path, { messages, ...given })
        const sent = requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body))
        expect(sent).to.deep.equal(
          [
            { max_tokens: 50 },
            { max_tokens: 50 },
            { max_tokens: 50 },
            { max_completion_tokens: 50, max_tokens: 5 },
            { n_predict: 50, max_tokens: 50 },
            { max_tokens: 5, Max_Tokens: 50 },
          ].map((limits) => ({ messages, model: 'm1', ...limits })),
        )
      },
    ))

  for (const [param, value] of [
    ['max_tokens', -1],
    ['max_completion_tokens', '9'],
    ['n_predict', 1.5],
    ['stream', 'yes'],
    ['model', 7],
  ] as const)
    it(`is rejected with an invalid ${param}: ${JSON.stringify(value)}`, () =>
      withRelay(
        (response) => sendJson(response, completion),
        async (service, { requests }) => {
          const { status, body } = await service.call('POST', path, { ...ask, [param]: value })
          expect([status, body.error.param]).to.deep.equal([400, param])
          expect(requests).to.have.length(0)
        },
      ))
})

describe('a service that allows some fields of OpenAI clients', () => {
  it('passes on these and the usual ones, and rejects each other one, in any case of its letters', () =>
    withModel(
      (response) => sendJson(response, { choices: [{ index: 0, message: { content: 'hi' } }] }),
      async ({ call, requests }) => {
        const sent = { ...ask, stream: false, tools: [], max_tokens: 7 }
        expect((await call('POST', path, sent)).status).to.equal(200)
        expect(JSON.parse(requests.at(-1)?.body ?? '')).to.deep.equal(sent)
        for (const field of ['n', 'Tools', 'cache_prompt']) {
          const { status, body } = await call('POST', path, { ...ask, [field]: 1 })
          expect([status, body.error.param]).to.deep.equal([400, field])
        }
        expect(requests.filter(({ method }) => method === 'POST')).to.have.length(1)
      },
      { openAiFields: ['tools', 'max_tokens'] },
    ))
})

describe('the stream for an OpenAI client', () => {
  it('has the events of the model server unchanged, and the usage only if the client requests it', () => {
    const part = { index: 0, finish_reason: null }
    const chunks = [
      {
        id: 'c1',
        choices: [{ ...part, delta: { role: 'assistant', content: '' } }],
        system_fingerprint: 'f',
      },
      { id: 'c1', choices: [{ ...part, delta: { content: '漢字 👍', reasoning_content: 'hm' } }] },
      { id: 'c1', choices: [{ ...part, delta: { tool_calls: [{ ...call, index: 0 }] } }] },
      { id: 'c1', choices: [{ ...part, delta: {}, finish_reason: 'tool_calls' }] },
      { id: 'c1', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ]
    return withRelay(
      (response) => {
        startEvents(response)
        response.write(': a comment\r\n\r\n')
        sendData(response, ...chunks)
        sendDone(response)
      },
      async (service, { requestsOf }) => {
        const options = { include_usage: true }
        expect(await stream(service, { ...streamed, stream_options: options })).to.deep.equal([
          ...chunks,
          '[DONE]',
        ])
        await stream(service, streamed)
        const asked = requestsOf('/v1/chat/completions').map(({ body }) => JSON.parse(body).stream_options)
        expect(asked).to.deep.equal([options, undefined])
      },
    )
  })

  it('is one event if the model server does not stream', () => {
    const message = { role: 'assistant', content: 'whole', tool_calls: [call] }
    return withRelay(
      (response) =>
        sendJson(response, { id: 'x', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      async (service) => {
        const [event, ...more] = await stream(service, streamed)
        const delta = { ...message, tool_calls: [{ ...call, index: 0 }] }
        expect(event).to.deep.include({
          id: 'x',
          choices: [{ index: 0, delta, finish_reason: 'tool_calls' }],
        })
        expect(more).to.deep.equal(['[DONE]'])
      },
    )
  })

  const truncations: Record<string, (response: ServerResponse) => unknown> = {
    'the connection is reset': (response) => response.socket?.resetAndDestroy(),
    'the connection is closed within an event': (response) =>
      response.write('data: {"choices":[{"ind', () => response.socket?.end()),
    'the stream ends without a finish_reason': (response) => response.end(),
    'another choice has not ended': (response) => {
      sendData(response, { choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] })
      response.end()
    },
    'the model server sends an error': (response) =>
      response.end(`data: {"error":{"message":"out of memory, ${key}"}}\n\n`),
    'an event is not JSON': (response) => response.end('data: <html>\n\n'),
  }
  for (const [how, truncate] of Object.entries(truncations))
    it(`ends in an error, without [DONE], if ${how}`, () =>
      withRelay(
        async (response) => {
          startEvents(response)
          sendDelta(response, 'half')
          await new Promise((resolve) => setImmediate(resolve))
          truncate(response)
        },
        async (service) => {
          const events = await stream(service, { ...streamed, n: 2 })
          const last = events.pop()
          expect(last.error).to.include({ code: 'model_server_error', type: 'server_error' })
          expect(JSON.stringify(last)).not.to.include(key)
          expect(events.map(({ choices }) => choices[0].delta.content ?? '').join('')).to.equal('half')
        },
      ))

  it('is truncated without a finish_reason, although the client has requested no choice', () =>
    withRelay(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half')
        response.end()
      },
      async ({ call: send }) => {
        const { text } = await send('POST', path, { ...streamed, n: 0 })
        expect(text).to.include('"error"').and.not.to.include('[DONE]')
      },
    ))

  it('is complete without [DONE] from the model server, if every choice has ended', () =>
    withRelay(
      (response) => {
        startEvents(response)
        sendDelta(response, 'whole', 'stop')
        response.end()
      },
      async ({ call: send }) => {
        const { text } = await send('POST', path, streamed)
        expect(text)
          .to.include('whole')
          .and.to.match(/data: \[DONE\]\n\n$/)
      },
    ))

  it('ends the request to the model server if the client aborts it', async () => {
    const { promise: left, resolve } = Promise.withResolvers<void>()
    await withRelay(
      (response) => {
        response.once('close', resolve)
        startEvents(response)
        sendDelta(response, 'half')
      },
      async (service) => {
        const abort = new AbortController()
        await readEvents(await service.open('POST', path, streamed, abort.signal)).next()
        abort.abort()
        await left
      },
    )
  })
})
