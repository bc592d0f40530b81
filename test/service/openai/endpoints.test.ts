import { expect } from 'chai'
import OpenAI from 'openai'
import { plantKey } from '../domain/plant-key.ts'
import { withCountedService } from '../limits/counted-service.ts'
import { sendJson, withModelServer } from '../replies/scripted-model-server.ts'
import { withServer } from '../start-server.ts'
import { onEachTransport, withService } from '../temporary-service.ts'
import { connect, failure, readStream } from './connect.ts'

const messages = [{ role: 'user' as const, content: 'one two' }]
const ask = { model: 'test-program', messages }
const completions = '/openai/v1/chat/completions'

describe('the endpoints for OpenAI clients', () => {
  it('list the models, and find one whose ID has slashes, encoded or not', () =>
    withModelServer(
      () => {},
      ({ url }) =>
        withService(
          async (service) => {
            const client = connect(service)
            const m1 = { id: 'm1', object: 'model', created: 7, owned_by: 'me' }
            expect((await client.models.list()).data).to.deep.equal([m1])
            expect(await client.models.retrieve('m1')).to.deep.include(m1)
            for (const path of ['org/m2', 'org%2Fm2']) {
              const { status, body } = await service.call('GET', `/openai/v1/models/${path}`)
              expect(status).to.equal(404)
              expect(body.error).to.deep.equal({
                message: 'No model org/m2',
                type: 'invalid_request_error',
                param: 'model',
                code: 'model_not_found',
              })
            }
          },
          { modelServer: { url } },
        ),
    ))

  it('require a key with the permission of the interface, and turn off with chat', () =>
    withServer({}, async (server) => {
      const invalid = await failure(
        connect({ ...server, key: 'ck_wrong' })
          .models.list()
          .then(),
      )
      expect(invalid).to.be.instanceOf(OpenAI.AuthenticationError).and.include({ code: 'invalid_api_key' })
      const { key } = await plantKey(server.store.db, { permissions: '["read:chat"]' })
      const reader = connect({ ...server, key })
      expect((await reader.models.list()).data).to.have.length(1)
      const refused = await failure(reader.chat.completions.create(ask).then())
      expect(refused).to.be.instanceOf(OpenAI.PermissionDeniedError).and.include({ code: 'forbidden' })
      await server.call('PATCH', '/v1/settings', { features: { chat: false } })
      const off = await failure(connect(server).chat.completions.create(ask).then())
      expect(off).to.be.instanceOf(OpenAI.PermissionDeniedError).and.include({ code: 'feature_disabled' })
    }))

  it('count against the rate limit of the key, and respond with 429 and Retry-After', () =>
    withCountedService(async ({ url, makeKey }) => {
      const { key } = await makeKey('enterprise', 1)
      const client = connect({ url, key })
      const { response } = await client.models.list().withResponse()
      expect(response.headers.get('ratelimit')).to.include('"hour";r=0;t=30')
      const refused = await failure(client.chat.completions.create(ask).then())
      expect(refused).to.be.instanceOf(OpenAI.RateLimitError)
      expect(refused).to.include({ code: 'rate_limit_exceeded', type: 'rate_limit_error' })
      expect(refused.headers?.get('retry-after')).to.equal('30')
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
    ['a large body', 413, { path: completions, body: `"${'x'.repeat(4 * 1024 * 1024)}"` }],
  ]
  for (const [what, status, { path, method = 'POST', body, headers }] of mistakes) {
    it(`report ${what} in the format of OpenAI`, () =>
      withService(async ({ call }) => {
        const answer = await call(method, path, body, headers)
        expect(answer.status).to.equal(status)
        expect(answer.body.error).to.have.all.keys('message', 'type', 'param', 'code')
        expect(answer.headers.get('x-request-id')).to.match(/^req_/)
      }))
  }

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
    withModelServer(
      (response) =>
        sendJson(response, {
          choices: [{ index: 0, message: { content: 'hi' } }],
          usage: { prompt_tokens: 3, completion_tokens: 4 },
        }),
      ({ url }) =>
        withService(
          async (service) => {
            await connect(service).chat.completions.create({ ...ask, model: 'm1' })
            const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
            expect(metrics)
              .to.include('chatctl_model_server_tokens_total{kind="completion"} 4')
              .and.include('chatctl_model_server_request_duration_seconds_count{operation="completion"')
          },
          { modelServer: { url }, admin: { port: 0 } },
        ),
    ))
})

onEachTransport('the test program for an OpenAI client', (withTested) => {
  it('replies, whole or streamed, and stores nothing', () =>
    withTested(async ({ call }) => {
      const whole = await call('POST', completions, { ...ask, max_tokens: 3, user: 'ada' })
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
  ] as const) {
    it(`rejects what it cannot do, whole or streamed: ${param}`, () =>
      withTested(async ({ call }) => {
        for (const stream of [true, false]) {
          const { status, body } = await call('POST', completions, { ...request, stream })
          expect(status).to.equal(400)
          expect(body.error).to.include({ param, code: 'invalid_request' })
        }
      }))
  }
})

describe('the SDK of OpenAI', () => {
  it('lists models, completes, and streams with the test program', () =>
    withService(async (service) => {
      const client = connect(service)
      const [model] = (await client.models.list()).data
      const request = { model: model?.id ?? '', messages }
      const { choices, _request_id } = await client.chat.completions.create(request)
      expect(_request_id).to.match(/^req_/)
      const { text, error } = await readStream(client.chat.completions.create({ ...request, stream: true }))
      expect([text, error]).to.deep.equal([choices[0]?.message.content, undefined])
    }))
})
