import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { pino } from 'pino'
import { generateKey } from '../../../src/service/domain/access/keys.ts'
import type { ChatEvent } from '../../../src/service/domain/chat/chat-stream.ts'
import { EventStream, openEventStream } from '../../../src/service/http/response/event-stream.ts'
import type { Metrics } from '../../../src/service/metrics/create-metrics.ts'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { closing } from '../../support/lifetime.ts'
import { withModelServer } from '../../support/model-server.ts'
import { until } from '../../support/until.ts'
import { createTestServer } from '../start-server.ts'
import { withDirectory } from '../temporary-service.ts'
import { chunk, delta, events, head, onSocket } from './raw-responses.ts'

const piece = (text: string): ChatEvent => ({
  event: 'delta',
  data: { id: 'msg_1', context_id: 'ctx_1', created_at: '2025-01-01T00:00:00.000Z', model: 'm', delta: text },
})

describe('a stream to a client', () => {
  it('contains comments while the model is silent, before its first piece and later', async () => {
    async function* slow() {
      await waited(2)
      yield piece('a')
      await waited(4)
      yield piece('b')
    }
    let text = ''
    const waited = (comments: number) => until(() => text.split(': waiting').length > comments)
    const body = await openEventStream(new EventStream(slow()), () => {}, 20)
    for await (const bytes of body) text += bytes
    expect(text).to.match(
      /^(: waiting for the model\n\n){2,}event: delta\n.*"a".*\n\n(: waiting.*\n\n){2,}event: delta/,
    )
  })

  it('ends with an error event if its source fails, and the error is logged', async () => {
    async function* failing() {
      yield piece('a')
      throw new Error('secret')
    }
    const told: unknown[] = []
    let text = ''
    for await (const bytes of await openEventStream(new EventStream(failing()), (error) => told.push(error)))
      text += bytes
    expect(text).to.match(/event: error\ndata: \{"error":\{"code":"internal_error"/)
    expect(text).not.to.include('secret')
    expect(told).to.have.length(1)
  })

  it('that is closed ends its source', async () => {
    let ended = false
    async function* endless() {
      try {
        for (;;) {
          yield piece('x'.repeat(1000))
          await sleep(1)
        }
      } finally {
        ended = true
      }
    }
    const body = await openEventStream(new EventStream(endless()), () => {})
    await once(body, 'readable')
    body.destroy()
    await once(body, 'close')
    expect(ended).to.equal(true)
  })

  it('whose client leaves before the first piece is not logged as a failure of the service', async () => {
    const lines: string[] = []
    const refusals: string[] = []
    const metrics = {
      beginRequest() {},
      endRequest() {},
      countError: (code: string) => void refusals.push(code),
    } as unknown as Metrics
    const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
    await withDirectory(async (dataDir) => {
      await using store = closing(await openStore({ dataDir }))
      const server = createTestServer({ store, dataDir, metrics, logger })
      let leave: (() => void) | undefined
      async function* silent(): AsyncGenerator<ChatEvent> {
        await new Promise<void>((resolve) => {
          leave = resolve
        })
      }
      server.post('/silent', async ({ raw }, reply) => {
        raw.resume()
        // Returns after the model has been silent for this time. The first comment follows after the same time.
        const stream = await openEventStream(new EventStream(silent()), () => {}, 200)
        setTimeout(() => client.destroy(), 20)
        return reply.send(stream)
      })
      // As the signal of an abandoned request does.
      server.server.on('connection', (socket) => socket.once('close', () => leave?.()))
      const address = await server.listen({ host: '127.0.0.1', port: 0 })
      const client = connect(Number(new URL(address).port), '127.0.0.1')
      client.write(
        'POST /silent HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
      )
      await until(() => refusals.length > 0)
      await server.close()
    })
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).to.deep.equal([])
    expect(refusals).to.deep.equal(['request_timeout'])
  })

  it('whose client stays and reads nothing is closed, and so is the request to the model server', () =>
    withDirectory((dataDir) =>
      withModelServer(
        onSocket((socket) => {
          const part = chunk(events(delta('x'.repeat(10_000))))
          const fill = () => {
            while (!socket.destroyed && socket.write(part)) {}
          }
          socket.write(head('text/event-stream', { 'transfer-encoding': 'chunked' }))
          socket.on('drain', fill)
          fill()
        }),
        async ({ url, connections }) => {
          await using store = closing(await openStore({ dataDir }))
          await using replySource = closing(await createOpenAiCompatible({ url }))
          const key = generateKey()
          const isProcessKey = (given: string) => given === key
          const server = createTestServer({ store, dataDir, replySource, isProcessKey, stallTimeout: 200 })
          const address = await server.listen({ host: '127.0.0.1', port: 0 })
          const client = connect(Number(new URL(address).port), '127.0.0.1')
          client.pause()
          client.on('error', () => {})
          const body = JSON.stringify({ message: 'x', model: 'm1', stream: true })
          client.write(
            `POST /api/chat/send HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
              `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
          )
          while (connections() === 0) await sleep(5)
          const deadline = Date.now() + 5_000
          while (connections() > 0 && Date.now() < deadline) await sleep(20)
          expect(connections()).to.equal(0)
          client.destroy()
          await server.close()
        },
      ),
    ))
})
