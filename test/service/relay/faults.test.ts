import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { ApiError } from '../../../src/service/api-error.ts'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
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
    for await (const piece of modelServer.stream(order, never)) {
      if (piece.kind === 'delta') outcome.text += piece.text
      else if (piece.kind === 'finish') Object.assign(outcome, { reason: piece.reason, usage: piece.usage })
    }
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

/** What the model server sends, and the result that is expected. */
interface Fault {
  answer(socket: Socket): unknown
  expected: Outcome
}

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
  'is silent': { answer: () => {}, expected: late },
  'resets immediately': { answer: (socket) => socket.resetAndDestroy(), expected: broken },
  'hangs up immediately': { answer: (socket) => socket.end(), expected: broken },
  'sends a head and then nothing': { answer: says(sse), expected: late },
  'resets within a piece': {
    answer: thenResets(says(sse, chunk(events(delta('half'))), '40\r\ndata: {"cho')),
    expected: half,
  },
  'ends within a piece': {
    answer: thenEnds(says(sse, chunk(`${events(delta('half'))}data: {"cho`), lastChunk)),
    expected: half,
  },
  'stalls in the middle': {
    answer: says(sse, chunk(events(delta('half')))),
    expected: { text: 'half', code: 'model_server_timeout' },
  },
  'sends no events but noise': {
    answer: says(sse, chunk('\u0000\u0001 what: \n\n\n :::: \r\r\n id\n'), lastChunk),
    expected: broken,
  },
  'sends events that are not JSON': { answer: says(sse, chunk(events('{"cho'))), expected: broken },
  'sends bytes that are not UTF-8': {
    answer: says(
      sse,
      chunk(Buffer.from(events(delta('caf\xe9 '), delta('noir', 'stop'), '[DONE]'), 'latin1')),
    ),
    expected: {
      text: 'caf\ufffd noir',
      code: 'model_server_error',
      message: 'The model server sent a response that is not valid UTF-8',
    },
  },
  'sends JSON that is not an object': { answer: says(sse, chunk(events('17'))), expected: broken },
  'sends a megabyte of comments first': {
    answer: says(
      sse,
      ...Array.from({ length: 64 }, () => chunk(`: ${'x'.repeat(16_000)}\n\n`)),
      chunk(good),
      lastChunk,
    ),
    expected: fine,
  },
  'drips a byte at a time': {
    answer: async (socket) => {
      socket.write(sse)
      for (const byte of Buffer.from(good)) {
        socket.write(chunk(Buffer.of(byte)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.write(lastChunk)
    },
    expected: fine,
  },
  'reports an error in the middle': {
    answer: says(sse, chunk(events(delta('half'), { error: { message: 'out of memory' } }))),
    expected: truncation('out of memory'),
  },
  'reports an error by the name of an event': {
    answer: says(sse, chunk(`event: error\n${events({ message: 'out of luck' })}`)),
    expected: { ...truncation('out of luck'), text: '' },
  },
  'reports an error by the name of an event, as plain text': {
    answer: says(sse, chunk(`${events(delta('half'))}event: error\ndata: out of luck\n\n`)),
    expected: truncation('out of luck'),
  },
  'reports an error in a field named error': {
    answer: says(sse, chunk(`${events(delta('half'))}error: {"code":500,"message":"out of luck"}\n\n`)),
    expected: truncation('out of luck'),
  },
  'reports an error by the name of an object': {
    answer: says(sse, chunk(events(delta('half'), { object: 'error', message: 'out of luck', code: 500 }))),
    expected: truncation('out of luck'),
  },
  'ends with the body of an error': {
    answer: says(sse, chunk(`${events(delta('half'))}{"error":{"message":"out of luck"}}\n`), lastChunk),
    expected: truncation('out of luck'),
  },
  'ends regularly without a finish_reason': {
    answer: says(sse, chunk(events(delta('half'))), lastChunk),
    expected: half,
  },
  'omits the finish_reason': {
    answer: says(sse, chunk(events(delta('Hello there'), '[DONE]')), lastChunk),
    expected: fine,
  },
  'omits [DONE]': {
    answer: says(sse, chunk(events(delta('Hello there', 'stop'))), lastChunk),
    expected: fine,
  },
  'resets after the last piece': {
    answer: thenResets(says(sse, chunk(events(delta('Hello there', 'stop'))))),
    expected: fine,
  },
  'sends everything and never ends': {
    answer: says(sse, chunk(events(delta('Hello there', 'stop')))),
    expected: fine,
  },
  'keeps the connection open after [DONE]': { answer: says(sse, chunk(good)), expected: fine },
  'sends choices that were not requested': {
    answer: says(
      sse,
      chunk(
        events(
          {
            choices: [
              { index: 1, delta: { content: 'no' } },
              { index: 0, delta: { content: 'Hello there' } },
            ],
          },
          { choices: [{ index: 1, delta: {}, finish_reason: 'length' }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        ),
      ),
      lastChunk,
    ),
    expected: fine,
  },
  'counts tokens in its last piece': {
    answer: says(
      sse,
      chunk(
        events(
          delta('Hello there', 'stop'),
          { choices: [], usage: { prompt_tokens: 2, completion_tokens: 3 } },
          '[DONE]',
        ),
      ),
      lastChunk,
    ),
    expected: { ...fine, usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } },
  },
  'sends null for missing values': {
    answer: says(
      sse,
      chunk(
        events(
          { choices: null, usage: null, model: null },
          { choices: [{ delta: null }] },
          delta('Hello there', 'stop'),
        ),
      ),
      lastChunk,
    ),
    expected: fine,
  },
  'speaks HTTP/1.0 and closes': {
    answer: (socket) => socket.end(`HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${good}`),
    expected: fine,
  },
  'announces more bytes than it sends': {
    answer: (socket) =>
      socket.end(`${head('text/event-stream', { 'content-length': 9999 })}${events(delta('half'))}`),
    expected: half,
  },
}

const ofWholes: Record<string, Fault> = {
  'is silent': { answer: () => {}, expected: late },
  'resets immediately': { answer: (socket) => socket.resetAndDestroy(), expected: broken },
  'sends a head and then nothing': {
    answer: says(head('application/json', { 'content-length': 50 })),
    expected: late,
  },
  'resets in the middle': {
    answer: thenResets(says(head('application/json', chunked), chunk('{"choices":'))),
    expected: broken,
  },
  'announces more bytes than it sends': {
    answer: (socket) => socket.end(json(whole('Hello there'), { 'content-length': 9999 })),
    expected: broken,
  },
  'sends more bytes than it announces': {
    answer: says(json(whole('Hello there')), 'and more'),
    expected: fine,
  },
  'does not speak HTTP': { answer: (socket) => socket.end('invalid\r\n\r\n'), expected: broken },
  'sends noise': { answer: says(json(Buffer.from([0, 255, 1, 254]))), expected: broken },
  'splits characters': {
    answer: (socket) => {
      socket.write(head('application/json', chunked))
      for (const byte of Buffer.from(whole('ü漢👍'))) socket.write(chunk(Buffer.of(byte)))
      socket.write(lastChunk)
    },
    expected: { text: 'ü漢👍', reason: 'stop' },
  },
  'sends bytes that are not UTF-8': {
    answer: says(json(Buffer.from(whole('caf\xe9'), 'latin1'))),
    expected: refusal('The model server sent a response that is not valid UTF-8'),
  },
  'compresses its response without a request for it': {
    answer: says(json(gzipSync(whole('Hello there')), { 'content-encoding': 'gzip' })),
    expected: refusal('The model server sent a compressed response (gzip), which was not requested'),
  },
  redirects: {
    answer: says(head('text/plain', { location: 'http://127.0.0.1:1/', 'content-length': 0 }, 307)),
    expected: refusal('The model server returned 307'),
  },
  'sends 103 before its response': {
    answer: says('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', json(whole('Hello there'))),
    expected: fine,
  },
  'reports an error with status 200': {
    answer: says(json('{"error":{"message":"no credits left"}}')),
    expected: refusal('The model server failed: no credits left'),
  },
  'speaks HTTP/1.0 and closes': {
    answer: (socket) =>
      socket.end(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${whole('Hello there')}`),
    expected: fine,
  },
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
  ] as const) {
    for (const [what, { answer, expected }] of Object.entries(faults)) {
      it(`that ${what} in ${kind} results in ${expected.code ?? 'a complete reply'}`, () =>
        withModelServer(onSocket(answer), async (modelServer) => {
          expect(await run(modelServer.url)).to.deep.include(expected)
          await gone(modelServer)
        }))
    }
  }

  for (const [kind, run] of Object.entries({ streamed, completed })) {
    it(`that refuses the connection results in model_server_unreachable (${kind})`, async () => {
      expect((await run(`${await deadUrl()}/v1`)).code).to.equal('model_server_unreachable')
    })

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
        const modelServer = await createOpenAiCompatible({ url }, timeouts)
        for (let round = 0; round < 5; round++) {
          for await (const _ of modelServer.stream(order, never));
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        expect(seen.size).to.equal(1)
        await modelServer.close()
      },
    )
  })
})
