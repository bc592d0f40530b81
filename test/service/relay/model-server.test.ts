import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { withModel, withService } from '../temporary-service.ts'

const messages = [{ role: 'user', content: 'hello' }]
const never = new AbortController().signal

describe('a request to a model server', () => {
  it('contains nothing of the caller but the documented fields, whole or streamed', () =>
    withModelServer(
      (response, { body }) => {
        if (!JSON.parse(body).stream) return sendJson(response, { choices: [{ message: { content: 'hi' } }] })
        startEvents(response)
        sendDelta(response, 'hi', 'stop')
        sendDone(response)
      },
      ({ url, requestsOf }) =>
        withService(
          async ({ call }) => {
            const canaries = {
              cookie: 'canary=1',
              'x-api-key': 'canary',
              'x-forwarded-for': '10.1.2.3',
              'openai-organization': 'canary',
              'user-agent': 'canary',
              referer: 'http://canary/',
              traceparent: '00-canary',
            }
            await call('POST', '/v1/chat/completions', { messages, model: 'm1' }, canaries)
            await call('POST', '/api/chat/send', { message: 'x', model: 'm1' }, canaries)
            await call('POST', '/api/chat/send', { message: 'x', model: 'm1', stream: true }, canaries)
            expect(requestsOf('/v1/chat/completions')).to.have.length(3)
            for (const { headers, body } of requestsOf('/v1/chat/completions')) {
              expect(Object.keys(headers).sort().join(' ')).to.equal(
                'accept accept-encoding authorization connection content-length content-type host',
              )
              expect(headers.authorization).to.equal('Bearer sk-up')
              expect(`${JSON.stringify(headers)}${body}`).not.to.match(/canary|ck_|10\.1\.2\.3/)
              const { stream, stream_options, ...fields } = JSON.parse(body)
              expect(fields).to.have.all.keys('model', 'messages', 'max_tokens')
              expect(stream_options).to.deep.equal(stream ? { include_usage: true } : undefined)
            }
          },
          { modelServer: { url, key: 'sk-up' } },
        ),
    ))

  for (const [status, body] of [
    [400, { error: { message: 'Unrecognized request argument supplied: stream_options' } }],
    [422, { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options', 'include_usage'] }] }],
  ] as const)
    it(`omits the usage option after the model server has rejected it with ${status}`, () =>
      withModel(
        (response, request) => {
          if (JSON.parse(request.body).stream_options) return sendJson(response, body, status)
          startEvents(response)
          sendDelta(response, 'hi', 'stop')
          sendDone(response)
        },
        async ({ call, requestsOf }) => {
          for (let round = 0; round < 3; round++) {
            const answer = await call('POST', '/api/chat/send', {
              message: 'x',
              model: 'm1',
              stream: true,
            })
            expect(answer.text).to.include('event: done')
          }
          expect(requestsOf('/v1/chat/completions')).to.have.length(4)
        },
      ))

  const response_format = { type: 'json_schema', json_schema: { name: 'reply', schema: { type: 'object' } } }
  for (const [status, error] of [
    [200, ''],
    [400, 'Invalid schema for response_format: additionalProperties must be false'],
    [422, 'failed to parse grammar'],
  ] as const)
    it(`receives the response format, or a request without it if it rejects it: ${status}`, () =>
      withModel(
        (response, { body }) => {
          if (error !== '' && JSON.parse(body).response_format) return sendJson(response, { error }, status)
          const message = { role: 'assistant', content: '{}' }
          sendJson(response, { model: 'm1', choices: [{ index: 0, message, finish_reason: 'stop' }] })
        },
        async ({ call, requestsOf }) => {
          const message = { message: 'x', model: 'm1', response_format }
          for (const stream of [true, false])
            expect((await call('POST', '/api/chat/send', { ...message, stream })).status).to.equal(200)
          const completion = { messages, model: 'm1', response_format }
          expect((await call('POST', '/v1/chat/completions', completion)).status).to.equal(200)
          const formats = requestsOf('/v1/chat/completions').map(
            ({ body }) => JSON.parse(body).response_format,
          )
          const each = error === '' ? [response_format] : [response_format, undefined]
          expect(formats).to.deep.equal([...each, ...each, ...each])
          const wrong = { ...message, response_format: { type: 'text' } }
          expect((await call('POST', '/api/chat/send', wrong)).status).to.equal(400)
        },
      ))

  const quoted = 'quota of sk-up-7f3a is used up'
  const showing: Record<string, (response: ServerResponse) => void> = {
    'with a status': (response) => sendJson(response, { error: { message: quoted } }, 402),
    'with status 200': (response) => sendJson(response, { error: { message: quoted } }),
    'in a message that is truncated': (response) =>
      sendJson(response, { error: { message: `${quoted}${' '.repeat(964)}sk-up-7f3a` } }, 500),
    'within a stream': (response) => {
      startEvents(response)
      response.end(`data: ${JSON.stringify({ error: { message: quoted } })}\n\n`)
    },
  }
  for (const [how, answer] of Object.entries(showing))
    it(`has a key that no response to the client shows: ${how}`, () =>
      withModelServer(answer, ({ url }) =>
        withService(
          async ({ call }) => {
            const stream = how === 'within a stream'
            const asked = { message: 'x', model: 'm1', stream }
            const { status, text } = await call('POST', '/api/chat/send', asked)
            expect(status).to.equal(502)
            expect(text).to.include('is used up').and.not.to.include('sk-up')
          },
          { modelServer: { url, key: 'sk-up-7f3a' } },
        ),
      ))
})

describe('the default model of a model server', () => {
  it('is requested again after ten seconds or a failure, and missing if the list is empty', async () => {
    const lists = [{}, { data: [] }, { data: [{ id: 'm1' }] }, { data: [{ id: 'm2' }] }]
    const { url, close } = await startScriptedServer((_, response) => sendJson(response, lists.shift()))
    const clock = new SteppedClock()
    const modelServer = await createOpenAiCompatible({ url }, undefined, clock)
    const first = () => modelServer.defaultModel(never).catch((error) => error.code)
    expect(await first()).to.equal('model_server_error')
    expect(await first()).to.equal('model_not_found')
    expect(await first()).to.equal('m1')
    clock.pass(9_999)
    expect(await first()).to.equal('m1')
    clock.pass(1)
    expect(await first()).to.equal('m2')
    await modelServer.close()
    await close()
  })
})
