import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
import type { RunningService } from '../../../src/service/start-service.ts'
import { chunk, delta, events, head, onSocket, whole } from '../../service/relay/raw-responses.ts'
import { withService } from '../../service/temporary-service.ts'
import { withModelServer } from '../../support/model-server.ts'
import type { ScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

/** Maximum milliseconds that a model server may work after the client has left. */
const bound = 50

const sse = head('text/event-stream', { 'transfer-encoding': 'chunked' })
const json = head('application/json', { 'transfer-encoding': 'chunked' })

const asked = {
  completion: ['/v1/chat/completions', { model: 'm1', messages: [{ role: 'user', content: 'x' }] }],
  send: ['/api/chat/send', { model: 'm1', message: 'x' }],
  stream: ['/api/chat/send', { model: 'm1', message: 'x', stream: true }],
} as const

/** How far the model server gets before the client leaves. */
const progress: Record<string, Partial<Record<keyof typeof asked, (socket: Socket) => unknown>>> = {
  'before the first byte': { completion: () => {}, send: () => {}, stream: () => {} },
  'after the head': {
    completion: (socket) => socket.write(json),
    send: (socket) => socket.write(json),
    stream: (socket) => socket.write(sse),
  },
  'in the middle': {
    completion: (socket) => socket.write(`${json}${chunk(whole('x').slice(0, 20))}`),
    send: (socket) => socket.write(`${json}${chunk(whole('x').slice(0, 20))}`),
    stream: (socket) => socket.write(`${sse}${chunk(events(delta('half')))}`),
  },
}

/** How a client leaves. */
const ways: Record<string, (socket: Socket) => unknown> = {
  'closes the connection': (socket) => socket.destroy(),
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'half-closes the connection': (socket) => socket.end(),
}

function ask({ url, key }: RunningService & { key: string }, kind: keyof typeof asked): Socket {
  const [path, body] = asked[kind]
  const text = JSON.stringify(body)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `content-length: ${text.length}\r\n\r\n${text}`,
  )
  return socket
}

async function leave(modelServer: ScriptedServer, act: () => unknown): Promise<number> {
  const leftAt = performance.now()
  act()
  await until(() => modelServer.connections() === 0)
  return performance.now() - leftAt
}

describe('a client that leaves', () => {
  for (const [when, kinds] of Object.entries(progress)) {
    for (const [kind, answer] of Object.entries(kinds)) {
      for (const [how, go] of Object.entries(ways)) {
        it(`ends the model's work on a ${kind} within 50 ms when it ${how} ${when}`, () =>
          withModelServer(onSocket(answer), (modelServer) =>
            withService(
              async (service) => {
                const took: number[] = []
                for (let round = 0; round < 3; round++) {
                  const socket = ask(service, kind as keyof typeof asked)
                  if (kind === 'stream' && when === 'in the middle') await once(socket, 'data')
                  else await until(() => modelServer.requestsOf('/v1/chat/completions').length > round)
                  await new Promise((resolve) => setTimeout(resolve, 20))
                  took.push(await leave(modelServer, () => go(socket)))
                  socket.destroy()
                }
                // The best of three, so that a busy machine does not matter.
                expect(Math.min(...took)).to.be.below(bound)
                expect(modelServer.requestsOf('/v1/chat/completions').length).to.equal(3)
              },
              { modelServer: { url: modelServer.url } },
            ),
          ))
      }
    }
  }

  it('aborts a connection to the model server that is not established yet', async () => {
    // TCP responds and TLS does not, so the connection is never established.
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    let received = 0
    server.on('connection', (socket) => {
      socket.on('error', () => {})
      socket.on('data', () => received++)
    })
    const { port } = server.address() as AddressInfo
    const modelServer = await createOpenAiCompatible({ url: `https://127.0.0.1:${port}/v1`, key: 'sk-1' })
    const client = new AbortController()
    const answer = modelServer.complete({ model: 'm1', messages: [] }, client.signal).catch((error) => error)
    await until(() => received === 1)
    const leftAt = performance.now()
    client.abort(new Error('gone'))
    expect((await answer).message).to.equal('gone')
    expect(performance.now() - leftAt).to.be.below(bound)
    await modelServer.close()
    server.close()
    expect(received).to.equal(1)
  })
})
