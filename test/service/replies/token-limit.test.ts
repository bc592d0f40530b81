import { expect } from 'chai'
import { someCells } from '../../support/cells.ts'
import { sendDelta, sendDone, sendJson, startEvents, startModelServer } from '../../support/model-server.ts'
import { type Answer, withService } from '../temporary-service.ts'

const messages = [{ role: 'user', content: 'hello' }]
const openAi = '/openai/v1/chat/completions'
const limit = 4096

/** Requests without a limit: a message and a completion of the interface, and a completion of an OpenAI client. */
const requests = [false, true].flatMap((stream) => [
  { path: '/api/chat/send', body: { message: 'x', model: 'm1', stream }, stream },
  { path: '/v1/chat/completions', body: { messages, model: 'm1' }, stream },
  { path: openAi, body: { messages, model: 'm1', stream }, stream },
])

type Limits = { model: string; max_tokens?: number; max_completion_tokens?: number; stream: boolean }

interface World {
  send(path: string, body: object, isStream?: boolean): Promise<Answer>
  /** The limits of the requests for completions since the last call. */
  sent(): (number | string | undefined)[]
  /** How often the models were listed. */
  listed(): number
}

/** @param refuse the error message for a request, if the model server refuses it, with status 400 or as an event */
async function withLimits(
  refuse: (limits: Limits) => string | undefined,
  use: (world: World) => Promise<unknown>,
  { about, asEvent = false }: { about?: object; asEvent?: boolean } = {},
) {
  await using server = await startModelServer({
    ...(about && { about }),
    complete: (response, { body }) => {
      const limits: Limits = JSON.parse(body)
      const message = refuse(limits)
      const error = { error: { message, code: 400 } }
      if (message !== undefined && !(asEvent && limits.stream))
        return sendJson(response, error, asEvent ? 200 : 400)
      if (!limits.stream)
        return sendJson(response, {
          choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }],
        })
      startEvents(response)
      if (message !== undefined) return response.end(`data: ${JSON.stringify(error)}\n\n`)
      sendDelta(response, 'Hi', 'stop')
      sendDone(response)
    },
  })
  await withService(
    ({ call }) =>
      use({
        send: (path, body, isStream) =>
          call('POST', path, body, isStream ? { accept: 'text/event-stream' } : {}),
        sent: () => {
          const posts = server.requests.splice(0).filter(({ method }) => method === 'POST')
          return posts.map(({ body }) => {
            const { max_tokens, max_completion_tokens: renamed } = JSON.parse(body)
            return renamed === undefined ? max_tokens : `completion: ${renamed}`
          })
        },
        listed: () => server.requests.filter(({ method }) => method === 'GET').length,
      }),
    { modelServer: { url: server.url } },
  )
}

const useOther = (name: string) =>
  `Unsupported parameter: '${name}' is not supported with this model. Use 'max_completion_tokens' instead.`

describe('the limit of the tokens for a model server', () => {
  it('moves to max_completion_tokens if the model server demands it, which is remembered for the model', () =>
    withLimits(
      ({ model, max_tokens }) =>
        model === 'm1' && max_tokens !== undefined ? useOther('max_tokens') : undefined,
      async ({ send, sent }) => {
        const renamed = `completion: ${limit}`
        let first = [limit]
        for (const { path, body, stream } of requests) {
          const { status, text } = await send(path, body, stream)
          expect([status, text.includes('Hi')], path).to.deep.equal([200, true])
          expect(sent(), path).to.deep.equal([...first, renamed])
          first = []
        }
        await send(openAi, { messages, model: 'm2' })
        await send(openAi, { messages, model: 'm1', max_tokens: 7 })
        await send(openAi, { messages, model: 'm1', max_completion_tokens: 8 })
        expect(sent()).to.deep.equal([limit, 'completion: 7', 'completion: 8'])
      },
    ))

  it('is remembered by requests at the same time, and forgotten if the model server no longer takes it', () => {
    let refused = 'max_tokens'
    return withLimits(
      (limits) =>
        limits[refused as 'max_tokens'] === undefined
          ? undefined
          : refused === 'max_tokens'
            ? useOther(refused)
            : 'Unknown field max_completion_tokens',
      async ({ send, sent }) => {
        const ask = () => send('/v1/chat/completions', { messages, model: 'm1' })
        await Promise.all([ask(), ask()])
        expect(sent().sort()).to.deep.equal([limit, limit, `completion: ${limit}`, `completion: ${limit}`])
        refused = 'max_completion_tokens'
        expect([(await ask()).status, (await ask()).status]).to.deep.equal([200, 200])
        expect(sent()).to.deep.equal([`completion: ${limit}`, limit, limit])
        const own = await send(openAi, { messages, model: 'm1', max_completion_tokens: 8 })
        expect([own.status, ...sent()]).to.deep.equal([400, 'completion: 8'])
      },
    )
  })

  for (const [about, expected] of [
    [{ max_model_len: 2048 }, undefined],
    [{ context_length: limit }, undefined],
    [{ meta: { n_ctx_train: 1024 } }, undefined],
    [{ max_model_len: limit + 1 }, limit],
    [{ context_length: 'large', meta: null }, limit],
    [{ context_length: 0 }, limit],
  ] as const)
    it(`is ${expected ? 'sent' : 'omitted'} if the list of models has ${JSON.stringify(about)}`, () =>
      withLimits(
        () => undefined,
        async ({ send, sent, listed }) => {
          for (const { path, body, stream } of requests) {
            expect((await send(path, body, stream)).status).to.equal(200)
            if (path === '/api/chat/send' && !stream) expect(listed()).to.equal(1)
            expect(sent(), path).to.deep.equal([expected])
            expect(listed()).to.equal(0)
          }
          await send(openAi, { messages, max_tokens: 7 })
          await send('/v1/chat/completions', { messages, model: 'm2', max_tokens: 8 })
          expect(sent()).to.deep.equal([7, 8])
        },
        { about },
      ))

  for (const [index, message] of [
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 tokens and your request has 20 input tokens (4096 > 2048 - 20).",
    "This model's maximum context length is 4096 tokens. However, you requested 4116 tokens (20 in the messages, 4096 in the completion).",
    "This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains at least 5000 input tokens.",
    '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 20 `inputs` tokens and 4096 `max_new_tokens`',
    'input length and `max_tokens` exceed context limit: 5000 + 4096 > 8192',
    'max_tokens is too large: 4096. This model supports at most 2048 completion tokens.',
    'The maximum tokens you requested exceeds the model limit of 2048.',
    'Unable to submit request because it has a maxOutputTokens value of 4096 but the supported range is from 1 to 2049',
    'too many tokens: max tokens must be less than or equal to 2048',
    'Invalid max_tokens value, the valid range of max_tokens is [1, 2048]',
  ].entries())
    for (const asEvent of someCells([false, true], (isEvent) => !isEvent || index === 0))
      it(`is omitted after a refusal${asEvent ? ' with status 200' : ''}: ${message}`, () =>
        withLimits(
          ({ max_tokens }) => (max_tokens === undefined ? undefined : message),
          async ({ send, sent }) => {
            for (const { path, body, stream } of requests) {
              const { status, text } = await send(path, body, stream)
              expect([status, text.includes('Hi')], path).to.deep.equal([200, true])
              expect(sent(), path).to.deep.equal([limit, undefined])
            }
          },
          { asEvent },
        ))

  const sum = (prompt: number, completion: number) =>
    `This model's maximum context length is 2,048 tokens. However, you requested ${prompt + completion} tokens (${prompt} in the messages, ${completion} in the completion).`
  const small = "Invalid 'max_tokens': below minimum value, expected >= 16"
  const required = 'max_tokens: Field required'
  const needsLimit = ({ max_tokens }: Limits) =>
    max_tokens ? 'max_tokens: 4096 > 2048, the maximum' : required
  const isLong = ({ max_tokens = 0 }: Limits) => sum(3000, max_tokens)
  const rejected = `rejected the request: ${required}`
  const tooLong = 'context_too_long'
  for (const [what, refuse, code, words, posts] of [
    ['the conversation is too long', isLong, tooLong, 'The conversation is longer', [limit, undefined]],
    ['the model server requires a limit', needsLimit, 'invalid_request', rejected, [limit, undefined]],
    ['the limit is too small', () => small, 'invalid_request', 'below minimum value', [limit]],
  ] as [string, (limits: Limits) => string, string, string, (number | undefined)[]][])
    it(`is not the reason of other refusals: ${what}`, () =>
      withLimits(refuse, async ({ send, sent }) => {
        for (const { path, body, stream } of requests) {
          const { status, body: answer } = await send(path, body, stream)
          const named = code === 'context_too_long' && path === openAi ? 'context_length_exceeded' : code
          expect([status, answer.error.code], path).to.deep.equal([400, named])
          expect(answer.error.message).to.include(words)
          expect(sent(), path).to.deep.equal(posts)
        }
      }))

  for (const [own, code, words] of [
    [2048, 'invalid_request', 'rejected the request: This model'],
    [1000, 'context_too_long', 'The conversation is longer'],
  ] as const)
    it(`of the client is kept, and named if it exceeds the context: ${own}`, () =>
      withLimits(
        ({ max_tokens = 0 }) => sum(1500, max_tokens),
        async ({ send, sent }) => {
          for (const path of ['/v1/chat/completions', openAi]) {
            const { status, body } = await send(path, { messages, model: 'm1', max_tokens: own })
            expect([status, body.error.code.replace('length_exceeded', 'too_long')], path).to.deep.equal([
              400,
              code,
            ])
            expect(body.error.message).to.include(words)
            expect(sent()).to.deep.equal([own])
          }
        },
      ))
})
