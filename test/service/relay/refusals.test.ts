import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { StorableStream, storableText } from '../../../src/service/domain/chat/chat.ts'
import { forAll } from '../../support/for-all.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { allEvents } from '../read-events.ts'
import { type Answer, modelOn, onEachTransport, withService } from '../temporary-service.ts'

const messages = [{ role: 'user', content: 'hello' }]
const openAi = '/openai/v1/chat/completions'

/** A request of each kind: a message and a completion of the interface, and a completion of an OpenAI client. */
const requests = [false, true].flatMap(
  (stream) =>
    [
      ['/api/chat/send', { message: 'x', model: 'm9', stream }, stream],
      ['/v1/chat/completions', { messages, model: 'm9' }, stream],
      [openAi, { messages, model: 'm9', stream }, stream],
    ] as const,
)

/** The key of the model server, which no response to a client shows. */
const key = 'sk-up-7f3a'

/** The responses to each of these requests, by path. An exchange that fails is not stored. */
async function responsesOf(
  respond: (response: ServerResponse, stream: boolean) => unknown,
  check: (path: string, answer: Answer, stream: boolean) => unknown,
) {
  await withModelServer(
    (response, { body }) => respond(response, JSON.parse(body).stream === true),
    ({ url }) =>
      withService(
        async ({ call }) => {
          let hasBegun = false
          for (const [path, body, stream] of requests) {
            const answer = await call('POST', path, body, stream ? { accept: 'text/event-stream' } : {})
            expect(answer.text, path).not.to.include(key)
            if (path === openAi && answer.status >= 400) {
              expect(answer.body.error).to.have.all.keys('message', 'type', 'param', 'code')
              const type = answer.status < 500 ? 'invalid_request_error' : 'server_error'
              expect(answer.body.error.type).to.equal(type)
            }
            hasBegun ||= answer.status === 200
            check(path, answer, stream)
          }
          const { body } = await call('GET', '/api/chat/history')
          if (!hasBegun) expect(body.messages).to.deep.equal([])
        },
        { modelServer: { url, key } },
      ),
  )
}

describe('a 404 of a model server', () => {
  for (const error of [
    { error: { message: 'The model `m9` does not exist.', type: 'NotFoundError', code: 404 } },
    { error: { message: 'Use a different ID', code: 'model_not_found' } },
    { error: "model 'm9' not found" },
    { type: 'error', error: { type: 'not_found_error', message: 'model: m9' } },
  ])
    it(`means that the model is missing if it says so: ${JSON.stringify(error)}`, () =>
      responsesOf(
        (response) => sendJson(response, error, 404),
        (path, { status, body }) => {
          expect([status, body.error.code], path).to.deep.equal([404, 'model_not_found'])
          expect(body.error.message).to.equal('No model m9')
        },
      ))

  for (const [text, words] of [
    ['404 page not found', '404 page not found'],
    ['{"detail":"Not Found"}', 'Not Found'],
    ['{"error":"Unknown path /models/chat of the model server m9"}', 'Unknown path'],
    ['<html><h1>No model</h1></html>', ''],
  ] as const)
    it(`shows its message otherwise, because the path may be wrong: ${text}`, () =>
      responsesOf(
        (response) => response.writeHead(404).end(text),
        (path, { status, body }) => {
          expect([status, body.error.code], path).to.deep.equal([
            path === openAi ? 404 : 502,
            'model_server_error',
          ])
          expect(body.error.message).to.match(/^The model server returned 404/)
          // The log has no text of the model server, so the message of the interface has none, either.
          expect(path === openAi ? body.error.message : JSON.stringify(body.error.details)).to.include(words)
        },
      ))
})

/** By status of the model server: the status and the code of the service, and the status for an OpenAI client. */
const statuses: [number, number, string, number][] = [
  [400, 400, 'invalid_request', 400],
  [402, 502, 'model_server_error', 402],
  [409, 502, 'model_server_error', 409],
  [413, 413, 'payload_too_large', 413],
  [422, 400, 'invalid_request', 400],
  [429, 503, 'model_server_overloaded', 503],
  [451, 502, 'model_server_error', 451],
  [500, 502, 'model_server_error', 502],
  [503, 503, 'model_server_overloaded', 503],
  [529, 503, 'model_server_overloaded', 503],
]

describe('a status of a model server', () => {
  for (const [given, status, code, openAiStatus] of statuses)
    it(`keeps its class: ${given}`, () =>
      responsesOf(
        (response) =>
          sendJson(
            response.setHeader('retry-after', '7'),
            { error: { message: `No more for ${key}` } },
            given,
          ),
        (path, { status: found, body, headers }) => {
          expect([found, body.error.code], path).to.deep.equal([
            path === openAi ? openAiStatus : status,
            code,
          ])
          expect(JSON.stringify(body)).to.include('No more for …')
          expect(headers.get('retry-after')).to.equal(status === 503 ? '7' : null)
        },
      ))
})

/** Responses that are no reply, and the words of the message. */
const useless: [string, (response: ServerResponse) => unknown, string][] = [
  ['401', (to) => sendJson(to, { error: { message: `denied for ${key}` } }, 401), 'rejects the'],
  ['a redirect', (to) => to.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), '302'],
  ['a web page with status 502', (to) => to.writeHead(502).end('<html>no</html>'), '502'],
  ['a web page', (to) => to.end('<html>no</html>'), 'not JSON'],
  ['choices of another type', (to) => sendJson(to, { choices: 'x' }), 'OpenAI format'],
  ['no choices', (to) => sendJson(to, { choices: [] }), 'OpenAI format'],
  ['a reset connection', (to) => to.socket?.resetAndDestroy(), 'No response'],
]

describe('a useless response of a model server', () => {
  for (const [what, respond, words] of useless)
    it(`is an error of the model server: ${what}`, () =>
      responsesOf(respond, (path, { status, body }) => {
        expect([status, body.error.code], path).to.deep.equal([502, 'model_server_error'])
        expect(body.error.message, path).to.include(words)
      }))
})

/** Errors with status 200, with the status for an OpenAI client, and the code. */
const reported: [object, number, string][] = [
  [{ error: { message: 'Slow down', code: 429 } }, 503, 'model_server_overloaded'],
  [{ error: { message: 'Slow down', type: 'rate_limit_error' } }, 503, 'model_server_overloaded'],
  [{ type: 'error', error: { message: 'Busy', type: 'overloaded_error' } }, 503, 'model_server_overloaded'],
  [{ choices: [{ message: {}, error: { message: 'Busy', code: '429' } }] }, 503, 'model_server_overloaded'],
  [{ object: 'error', message: 'maximum context length is 10', code: 400 }, 400, 'context_too_long'],
  [{ error: 'the request exceeds the available context size' }, 400, 'context_too_long'],
  [{ error: { message: 'too long', code: 'context_length_exceeded' } }, 400, 'context_too_long'],
  [{ error: { message: 'no such model', code: 404 } }, 404, 'model_not_found'],
  [[{ error: { message: 'no such model', code: 404, status: 'NOT_FOUND' } }], 404, 'model_not_found'],
  [{ error: { message: 'Pay first', code: 402 } }, 402, 'model_server_error'],
  [{ error: { message: 'Bad tool', type: 'invalid_request_error' } }, 400, 'invalid_request'],
  [{ error: { message: 'Provider overloaded', code: 502 } }, 502, 'model_server_error'],
  [{ error: { message: 'context_length_exceeded or so', code: 500 } }, 502, 'model_server_error'],
  [
    { choices: [{ index: 0, message: { content: 'context_length_exceeded' }, finish_reason: 'error' }] },
    502,
    'model_server_error',
  ],
]

describe('an error with status 200', () => {
  for (const [error, openAiStatus, code] of reported)
    it(`has the status of such an error, whole or as the first event: ${JSON.stringify(error)}`, () =>
      responsesOf(
        (response, stream) => {
          if (!stream) return sendJson(response, error)
          startEvents(response)
          response.write(`data: ${JSON.stringify(error)}\n\n`)
          sendDone(response)
        },
        (path, { status, body }, stream) => {
          if (stream && JSON.stringify(error).includes('content"')) return
          const known = openAiStatus === 402 && path !== openAi ? 502 : openAiStatus
          const named = code === 'context_too_long' && path === openAi ? 'context_length_exceeded' : code
          expect([status, body?.error.code], `${path} ${stream}`).to.deep.equal([known, named])
        },
      ))

  it('keeps its code after the first part of a stream', () =>
    responsesOf(
      (response, stream) => {
        if (!stream) return sendJson(response, {}, 429)
        startEvents(response)
        for (const event of [
          { choices: [{ delta: { content: 'one' } }] },
          { error: { message: 'Slow down', code: 429 } },
        ])
          response.write(`data: ${JSON.stringify(event)}\n\n`)
        response.end()
      },
      (path, { status, text }, stream) => {
        if (!stream) return
        expect([status, text.includes('truncated the response: Slow down')], path).to.deep.equal([200, true])
      },
    ))
})

/** U+0000, which a column cannot store, half a character between two pieces, and one at the end. */
const pieces = ['a\u0000b \ud83d', '\udc4d \ud800 c', 'd \ud83d']
const kept = 'a\ufffdb 👍 \ufffd cd \ufffd'

async function answer(response: ServerResponse, { body }: { body: string }): Promise<void> {
  if (!JSON.parse(body).stream)
    return sendJson(response, { choices: [{ message: { content: pieces.join('') } }] })
  startEvents(response)
  for (const piece of pieces) {
    sendDelta(response, piece)
    await pause(10)
  }
  sendDelta(response, '', 'stop')
  sendDone(response)
}

onEachTransport('a reply with text that the database cannot store', (withService) => {
  const withModel = modelOn(withService)

  for (const stream of [false, true])
    it(`is sent to the client as it is stored, ${stream ? 'streamed' : 'whole'}`, () =>
      withModel(answer, async ({ call, open }) => {
        const response = await open('POST', '/api/chat/send', { message: 'x', model: 'm1', stream })
        if (stream) {
          const events = await allEvents(response)
          const deltas = events.slice(0, -1).map(({ data }) => data.delta)
          expect(deltas.join('')).to.equal(kept)
          for (const delta of deltas) expect(delta.isWellFormed()).to.equal(true)
          expect(events.at(-1)?.data.response).to.equal(kept)
        } else {
          expect((await response.json()) as object).to.include({ response: kept })
        }
        const { messages } = (await call('GET', '/api/chat/history')).body
        expect(messages[1].content).to.equal(kept)
      }))
})

describe('storable text in pieces', () => {
  it('is the same as in one piece, however it is split', () => {
    const units = fc.array(fc.constantFrom('a', '\0', '\ud83d', '\udc4d', '漢'), { maxLength: 12 })
    forAll(fc.array(units), (cut) => {
      const stream = new StorableStream()
      const taken = cut.map((piece) => stream.take(piece.join('')))
      expect([...taken, stream.end()].join('')).to.equal(storableText(cut.flat().join('')))
    })
  })
})
