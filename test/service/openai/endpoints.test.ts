import { expect } from 'chai'
import { sendJson, startModelServer } from '../../support/model-server.ts'
import { plantKey } from '../domain/plant-key.ts'
import { withCountedService } from '../limits/counted-service.ts'
import { allEvents } from '../read-events.ts'
import { withServer } from '../start-server.ts'
import { caller, onEachTransport, withModel, withService } from '../temporary-service.ts'

const ask = { model: 'test-program', messages: [{ role: 'user', content: 'one two' }] }
const models = '/openai/v1/models'
const completions = '/openai/v1/chat/completions'

describe('the endpoints for OpenAI clients', () => {
  it('list the models with all their fields, and find one whose ID has slashes, encoded or not', async () => {
    const about = { max_model_len: 8192, meta: { n_ctx_train: 4096 }, permission: [null], root: 'weights' }
    await using server = await startModelServer({ models: ['m1', 'org/m3'], about })
    await withService(
      async ({ call }) => {
        const documented = { object: 'model', created: 7, owned_by: 'me' }
        const [m1, m3] = ['m1', 'org/m3'].map((id) => ({ id, ...documented, ...about }))
        expect((await call('GET', models)).body).to.deep.equal({ object: 'list', data: [m1, m3] })
        expect((await call('GET', `${models}/m1`)).body).to.deep.equal(m1)
        for (const path of ['org/m3', 'org%2Fm3'])
          expect((await call('GET', `${models}/${path}`)).body).to.deep.equal(m3)
        const missing = await call('GET', `${models}/org/m2`)
        expect(missing.status).to.equal(404)
        expect(missing.body.error).to.deep.equal({
          message: 'No model org/m2',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        })
        const { body } = await call('GET', '/v1/chat/models')
        expect(body.data[0]).to.deep.equal({ id: 'm1', ...documented })
      },
      { modelServer: { url: server.url } },
    )
  })

  it('require a key with the permission of the interface, and turn off with chat', () =>
    withServer({}, async ({ url, store, call }) => {
      const refusal = async (send: typeof call, method = 'POST', path = completions) => {
        const { status, body } = await send(method, path, method === 'POST' ? ask : undefined)
        return [status, body.error.code]
      }
      expect(await refusal(caller(url, 'ck_wrong'), 'GET', models)).to.deep.equal([401, 'invalid_api_key'])
      const reader = caller(url, (await plantKey(store.db, { permissions: '["read:chat"]' })).key)
      expect((await reader('GET', models)).body.data).to.have.length(1)
      expect(await refusal(reader)).to.deep.equal([403, 'forbidden'])
      await call('PATCH', '/v1/settings', { features: { chat: false } })
      expect(await refusal(call)).to.deep.equal([403, 'feature_disabled'])
    }))

  it('count against the rate limit of the key, and respond with 429 and Retry-After', () =>
    withCountedService(async ({ url, makeKey }) => {
      const call = caller(url, (await makeKey('enterprise', 1)).key)
      expect((await call('GET', models)).headers.get('ratelimit')).to.include('"hour";r=0;t=30')
      const { status, body, headers } = await call('POST', completions, ask)
      expect([status, headers.get('retry-after')]).to.deep.equal([429, '30'])
      expect(body.error).to.include({ code: 'rate_limit_exceeded', type: 'rate_limit_error' })
    }))

  const mistakes: [
    string,
    number,
    { path: string; method?: string; body?: string; headers?: Record<string, string> },
  ][] = [
    ['an unknown path', 404, { path: '/openai/v1/responses' }],
    ['an invalid path', 400, { path: '/openai/v1/models/%zz' }],
    ['another method', 405, { path: completions, method: 'GET' }],
    ['invalid JSON', 400, { path: completions, body: '{' }],
    ['a body that is a list', 400, { path: completions, body: '[]' }],
    ['no body', 400, { path: completions }],
    ['another type', 415, { path: completions, body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['a large body', 413, { path: completions, body: `"${'x'.repeat(1024)}"` }],
  ]
  for (const [what, status, { path, method = 'POST', body, headers }] of mistakes)
    it(`report ${what} in the format of OpenAI`, () =>
      withService(
        async ({ call }) => {
          const answer = await call(method, path, body, headers)
          expect(answer.status).to.equal(status)
          expect(answer.body.error).to.have.all.keys('message', 'type', 'param', 'code')
          expect(answer.headers.get('x-request-id')).to.match(/^req_/)
        },
        { openAiBodyLimit: 1024 },
      ))

  it('are unknown paths if they are turned off', () =>
    withService(
      async ({ call }) => {
        for (const path of ['/openai/v1/models', '/openai/v1/other', '/open%61i/v1/models']) {
          const { status, body } = await call('GET', path)
          expect([status, body.error.code]).to.deep.equal([404, 'not_found'])
          expect(body.error).not.to.have.property('type')
        }
      },
      { servesOpenAi: false },
    ))

  it('are counted in the metrics, with the tokens of a reply', () =>
    withModel(
      (response) =>
        sendJson(response, {
          choices: [{ index: 0, message: { content: 'hi' } }],
          usage: { prompt_tokens: 3, completion_tokens: 4 },
        }),
      async ({ call, adminUrl }) => {
        await call('POST', completions, { ...ask, model: 'm1' })
        const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
        expect(metrics)
          .to.include('chatctl_model_server_tokens_total{kind="completion"} 4')
          .and.include('chatctl_model_server_request_duration_seconds_count{operation="completion"')
      },
      { admin: { port: 0 } },
    ))
})

onEachTransport('the test program for an OpenAI client', (withTested) => {
  it('replies, whole or streamed, and stores nothing', () =>
    withTested(async ({ call }) => {
      const whole = await call('POST', completions, { ...ask, max_tokens: 3, user: 'ada' })
      expect(whole.headers.get('x-request-id')).to.match(/^req_/)
      expect(whole.body).to.deep.include({ object: 'chat.completion', model: 'test-program' })
      expect(whole.body.choices).to.deep.equal([
        { index: 0, message: { role: 'assistant', content: "This is chatctl's " }, finish_reason: 'length' },
      ])
      const options = { stream: true, stream_options: { include_usage: true } }
      const { text, headers } = await call('POST', completions, { ...ask, ...options, max_tokens: 1 })
      expect(headers.get('content-type')).to.equal('text/event-stream; charset=utf-8')
      const events = text.trimEnd().split('\n\n')
      expect(events.pop()).to.equal('data: [DONE]')
      const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)))
      expect(chunks.map(({ choices }) => choices)).to.deep.equal([
        [{ index: 0, delta: { role: 'assistant', content: 'This ' }, finish_reason: null }],
        [{ index: 0, delta: {}, finish_reason: 'length' }],
        [],
      ])
      expect(chunks.at(-1).usage).to.deep.equal({ prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 })
      const { body } = await call('GET', '/api/chat/history')
      expect(body.messages).to.deep.equal([])
    }))

  it('streams the text of a whole reply', () =>
    withTested(async ({ call, open }) => {
      const { body } = await call('POST', completions, ask)
      const events = await allEvents(await open('POST', completions, { ...ask, stream: true }))
      const text = events.map(({ data }) => data.choices?.[0].delta.content ?? '').join('')
      expect(text).to.equal(body.choices[0].message.content)
    }))

  it('joins parts of text, and ignores tools, which no reply of it calls', () =>
    withTested(async ({ call }) => {
      const { body } = await call('POST', completions, {
        messages: [
          { role: 'assistant', content: null, tool_calls: [] },
          { role: 'user', content: ['a b', ' c'].map((text) => ({ type: 'text', text })) },
        ],
        tools: [{ type: 'function', function: { name: 'f' } }],
        tool_choice: 'auto',
        response_format: { type: 'text' },
      })
      expect(body.choices[0].message.content).to.include('3 words and 5 characters')
    }))

  for (const [param, request] of [
    ['messages.0.content.0', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
    ['messages.0.content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages', { messages: [] }],
    ['tool_choice', { ...ask, tool_choice: 'required' }],
    ['response_format', { ...ask, response_format: { type: 'json_object' } }],
    ['n', { ...ask, n: 2 }],
  ] as const)
    it(`rejects what it cannot do, whole or streamed: ${param}`, () =>
      withTested(async ({ call }) => {
        for (const stream of [true, false]) {
          const { status, body } = await call('POST', completions, { ...request, stream })
          expect(status).to.equal(400)
          expect(body.error).to.include({ param, code: 'invalid_request' })
        }
      }))
})
