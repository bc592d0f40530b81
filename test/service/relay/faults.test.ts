import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { ApiError } from '../../../src/service/api-error.ts'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
import { closing } from '../../support/lifetime.ts'
import { withModelServer } from '../../support/model-server.ts'
import { deadUrl, type ScriptedServer } from '../../support/scripted-server.ts'
import { chunk, delta, events, head, lastChunk, onSocket, whole } from './raw-responses.ts'

const order = { model: 'm1', messages: [{ role: 'user' as const, content: 'hello' }] }
const timeouts = { connect: 300, silence: 300 }
const never = new AbortController().signal

/** The result: the text, how it ended, and the usage; or the refusal after some text. */
interface Outcome {
  text: string
  reason?: string
  usage?: unknown
  code?: string
  message?: string
}

async function streamed(url: string): Promise<Outcome> {
  const modelServer = await createOpenAiCompatible({ url }, timeouts)
  const outcome: Outcome = { text: '' }
  try {
    for await (const piece of modelServer.stream(order, never))
      if (piece.kind === 'delta') outcome.text += piece.text
      else if (piece.kind === 'finish') Object.assign(outcome, { reason: piece.reason, usage: piece.usage })
  } catch (error) {
    const { code, message } = error as ApiError
    Object.assign(outcome, { code, message })
  } finally {
    await modelServer.close()
  }
  return outcome
}

async function completed(url: string): Promise<Outcome> {
  const modelServer = await createOpenAiCompatible({ url }, timeouts)
  try {
    const { choices, usage } = await modelServer.complete(order, never)
    return { text: choices[0]?.message.content ?? '', reason: choices[0]?.finish_reason ?? '', usage }
  } catch (error) {
    const { code, message } = error as ApiError
    return { text: '', code, message }
  } finally {
    await modelServer.close()
  }
}

/** The expected result, and what the model server sends. */
type Fault = [expected: Outcome, answer: (socket: Socket) => unknown]

const says =
  (...parts: (string | Buffer)[]) =>
  (socket: Socket) => {
    for (const part of parts) socket.write(part)
  }
const thenResets = (act: (socket: Socket) => unknown) => (socket: Socket) => {
  act(socket)
  setTimeout(() => socket.resetAndDestroy(), 20)
}
const thenEnds = (act: (socket: Socket) => unknown) => (socket: Socket) => {
  act(socket)
  setTimeout(() => socket.end(), 20)
}

const chunked = { 'transfer-encoding': 'chunked' }
const sse = head('text/event-stream', chunked)
const good = events(delta('Hello '), delta('there', 'stop'), '[DONE]')
/** A stream of these events. It ends, unless it is left open. */
const streams = (...data: (object | string)[]) => says(sse, chunk(events(...data)), lastChunk)
const open = (...data: (object | string)[]) => says(sse, chunk(events(...data)))
const json = (body: string | Buffer, headers: Record<string, string | number> = {}) =>
  Buffer.concat([
    Buffer.from(head('application/json', { 'content-length': Buffer.byteLength(body), ...headers })),
    Buffer.from(body),
  ])
const broken = { text: '', code: 'model_server_error' }
const late = { text: '', code: 'model_server_timeout' }
const fine = { text: 'Hello there', reason: 'stop' }
const half = { text: 'half', code: 'model_server_error' }
const refusal = (message: string) => ({ text: '', code: 'model_server_error', message })
const truncation = (message: string) => ({
  ...half,
  message: `The model server truncated the response: ${message}`,
})

const ofStreams: Record<string, Fault> = {
  'does not speak HTTP': [
    refusal('No response from the model server: the response is not HTTP'),
    thenEnds(says('SSH-2.0-OpenSSH_9.2\r\n')),
  ],
  'is silent': [late, () => {}],
  'resets immediately': [broken, (socket) => socket.resetAndDestroy()],
  'hangs up immediately': [broken, (socket) => socket.end()],
  'sends a head and then nothing': [late, says(sse)],
  'resets within a piece': [half, thenResets(says(sse, chunk(events(delta('half'))), '40\r\ndata: {"cho'))],
  'ends within a piece': [half, thenEnds(says(sse, chunk(`${events(delta('half'))}data: {"cho`), lastChunk))],
  'stalls in the middle': [{ text: 'half', code: 'model_server_timeout' }, open(delta('half'))],
  'sends no events but noise': [
    broken,
    says(sse, chunk('\u0000\u0001 what: \n\n\n :::: \r\r\n id\n'), lastChunk),
  ],
  'sends events that are not JSON': [broken, open('{"cho')],
  'sends bytes that are not UTF-8': [
    {
      text: 'caf\ufffd noir',
      code: 'model_server_error',
      message: 'The model server sent a response that is not valid UTF-8',
    },
    says(sse, chunk(Buffer.from(events(delta('caf\xe9 '), delta('noir', 'stop'), '[DONE]'), 'latin1'))),
  ],
  'sends JSON that is not an object': [broken, open('17')],
  'sends a megabyte of comments first': [
    fine,
    says(
      sse,
      ...Array.from({ length: 64 }, () => chunk(`: ${'x'.repeat(16_000)}\n\n`)),
      chunk(good),
      lastChunk,
    ),
  ],
  'drips a byte at a time': [
    fine,
    async (socket) => {
      socket.write(sse)
      for (const byte of Buffer.from(good)) {
        socket.write(chunk(Buffer.of(byte)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.write(lastChunk)
    },
  ],
  'reports an error in the middle': [
    truncation('out of memory'),
    open(delta('half'), { error: { message: 'out of memory' } }),
  ],
  'reports an error by the name of an event': [
    refusal('The model server failed: out of luck'),
    says(sse, chunk(`event: error\n${events({ message: 'out of luck' })}`)),
  ],
  'reports an error by the name of an event, as plain text': [
    truncation('out of luck'),
    says(sse, chunk(`${events(delta('half'))}event: error\ndata: out of luck\n\n`)),
  ],
  'reports an error without words': [
    truncation('no reason given'),
    says(sse, chunk(`${events(delta('half'))}event: error\n${events('17')}`)),
  ],
  'reports an error in a field named error': [
    truncation('out of luck'),
    says(sse, chunk(`${events(delta('half'))}error: {"code":500,"message":"out of luck"}\n\n`)),
  ],
  'reports an error by the name of an object': [
    truncation('out of luck'),
    open(delta('half'), { object: 'error', message: 'out of luck', code: 500 }),
  ],
  'ends with the body of an error': [
    truncation('out of luck'),
    says(sse, chunk(`${events(delta('half'))}{"error":{"message":"out of luck"}}\n`), lastChunk),
  ],
  'ends regularly without a finish_reason': [half, streams(delta('half'))],
  'omits the finish_reason': [fine, streams(delta('Hello there'), '[DONE]')],
  'omits [DONE]': [fine, streams(delta('Hello there', 'stop'))],
  'resets between pieces that all have a finish_reason': [
    half,
    thenResets(open(delta('ha', 'stop'), delta('lf', 'stop'))),
  ],
  'resets after the last piece': [fine, thenResets(open(delta('Hello there', 'stop')))],
  'sends everything and never ends': [fine, open(delta('Hello there', 'stop'))],
  'keeps the connection open after [DONE]': [fine, says(sse, chunk(good))],
  'sends choices that were not requested': [
    fine,
    streams(
      {
        choices: [
          { index: 1, delta: { content: 'no' } },
          { index: 0, delta: { content: 'Hello there' } },
        ],
      },
      { choices: [{ index: 1, delta: {}, finish_reason: 'length' }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ),
  ],
  'counts tokens in its last piece': [
    { ...fine, usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } },
    streams(
      delta('Hello there', 'stop'),
      { choices: [], usage: { prompt_tokens: 2, completion_tokens: 3 } },
      '[DONE]',
    ),
  ],
  'sends null for missing values': [
    fine,
    streams(
      { choices: null, usage: null, model: null },
      { choices: [{ delta: null }] },
      delta('Hello there', 'stop'),
    ),
  ],
  'speaks HTTP/1.0 and closes': [
    fine,
    (socket) => socket.end(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${good}`),
  ],
  'announces more bytes than it sends': [
    half,
    (socket) =>
      socket.end(`${head('text/event-stream', { 'content-length': 9999 })}${events(delta('half'))}`),
  ],
}

const ofWholes: Record<string, Fault> = {
  'is silent': [late, () => {}],
  'resets immediately': [broken, (socket) => socket.resetAndDestroy()],
  'sends a head and then nothing': [late, says(head('application/json', { 'content-length': 50 }))],
  'resets in the middle': [broken, thenResets(says(head('application/json', chunked), chunk('{"choices":')))],
  'announces more bytes than it sends': [
    broken,
    (socket) => socket.end(json(whole('Hello there'), { 'content-length': 9999 })),
  ],
  'sends more bytes than it announces': [fine, says(json(whole('Hello there')), 'and more')],
  'does not speak HTTP': [broken, (socket) => socket.end('invalid\r\n\r\n')],
  'sends noise': [broken, says(json(Buffer.from([0, 255, 1, 254])))],
  'splits characters': [
    { text: 'ü漢👍', reason: 'stop' },
    (socket) => {
      socket.write(head('application/json', chunked))
      for (const byte of Buffer.from(whole('ü漢👍'))) socket.write(chunk(Buffer.of(byte)))
      socket.write(lastChunk)
    },
  ],
  'sends bytes that are not UTF-8': [
    refusal('The model server sent a response that is not valid UTF-8'),
    says(json(Buffer.from(whole('caf\xe9'), 'latin1'))),
  ],
  'compresses its response without a request for it': [
    refusal('The model server sent a compressed response (gzip), which was not requested'),
    says(json(gzipSync(whole('Hello there')), { 'content-encoding': 'gzip' })),
  ],
  redirects: [
    refusal('The model server returned 307'),
    says(head('text/plain', { location: 'http://127.0.0.1:1/', 'content-length': 0 }, 307)),
  ],
  'sends 103 before its response': [
    fine,
    says('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', json(whole('Hello there'))),
  ],
  'reports an error with status 200': [
    refusal('The model server failed: no credits left'),
    says(json('{"error":{"message":"no credits left"}}')),
  ],
  'speaks HTTP/1.0 and closes': [
    fine,
    (socket) =>
      socket.end(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${whole('Hello there')}`),
  ],
}

async function gone({ connections }: ScriptedServer): Promise<void> {
  const deadline = performance.now() + 1000
  while (connections() > 0 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5))
  expect(connections(), 'connections left open').to.equal(0)
}

describe('a faulty model server', () => {
  for (const [kind, faults, run] of [
    ['a stream', ofStreams, streamed],
    ['a whole reply', ofWholes, completed],
  ] as const)
    for (const [what, [expected, answer]] of Object.entries(faults))
      it(`that ${what} in ${kind} results in ${expected.code ?? 'a complete reply'}`, () =>
        withModelServer(onSocket(answer), async (modelServer) => {
          expect(await run(modelServer.url)).to.deep.include(expected)
          await gone(modelServer)
        }))

  for (const [kind, run] of Object.entries({ streamed, completed })) {
    it(`that refuses the connection results in model_server_unreachable (${kind})`, async () =>
      expect((await run(`${await deadUrl()}/v1`)).code).to.equal('model_server_unreachable'))

    it(`that sends without end is disconnected before the memory is full (${kind})`, () =>
      withModelServer(
        onSocket((socket) => {
          socket.write(head(kind === 'streamed' ? 'text/event-stream' : 'application/json'))
          socket.write('data: {"choices":[{"delta":{"content":"')
          const filler = Buffer.alloc(1024 * 1024, 'x')
          const fill = () => {
            while (!socket.destroyed && socket.write(filler)) {}
          }
          socket.on('drain', fill)
          fill()
        }),
        async (modelServer) => {
          const before = process.memoryUsage().rss
          const { code, message } = await run(modelServer.url)
          expect(code).to.equal('model_server_error')
          expect(message).to.match(/too long|more than 4 M/)
          expect(process.memoryUsage().rss - before).to.be.below(200 * 1024 * 1024)
          await gone(modelServer)
        },
      ))
  }

  it('that keeps its connection after [DONE] receives the next request on the same one', () => {
    const seen = new Set<Socket>()
    return withModelServer(
      onSocket((socket) => {
        seen.add(socket)
        socket.write(`${sse}${chunk(good)}${lastChunk}`)
      }),
      async ({ url }) => {
        await using modelServer = closing(await createOpenAiCompatible({ url }, timeouts))
        for (let round = 0; round < 5; round++) {
          for await (const _ of modelServer.stream(order, never));
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        expect(seen.size).to.equal(1)
      },
    )
  })
})
