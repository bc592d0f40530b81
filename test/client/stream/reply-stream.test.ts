import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ReplyStream } from '../../../src/client/stream/reply-stream.ts'
import type { StreamEnd, StreamEvent } from '../../../src/contract/resources/stream-event.ts'
import {
  answer,
  failing,
  json,
  limited,
  ndjson,
  reset,
  silent,
  sse,
  stream,
} from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'
import { everythingIn, failureOf, hurriedClock, reasonOf } from '../capture.ts'
import { heldTimeout, holdTimers } from '../hold-timers.ts'
import { scriptedClient } from '../scripted-client.ts'

/** In ms, as in src/client/stream/reply-stream.ts. */
const waitAfterFinish = 5000

const deltas = [{ context_id: 'c1', delta: 'Hel' }, { delta: 'lo' }]
const plain = { 'content-type': 'text/plain' }

describe('a reply stream', () => {
  const { server, client, start } = scriptedClient(() => ({ internal: { clock: hurriedClock() } }))

  async function collect(answer: ReplyStream): Promise<StreamEvent[]> {
    const events: StreamEvent[] = []
    for await (const event of answer) events.push(event)
    return events
  }

  const held = holdTimers(heldTimeout, waitAfterFinish)

  async function ask(onText: (text: string) => void = () => {}): Promise<StreamEnd> {
    let end: StreamEvent | undefined
    for await (const event of await client.chat.stream({ message: 'hi' })) {
      end = event
      if (event.type === 'delta') onText(event.text)
    }
    if (end?.type !== 'end') throw new Error('the last event is not the end')
    return end
  }

  it('is requested as a stream, and has a status and headers', async () => {
    await start(sse(deltas))
    const streamed = await client.chat.stream({ message: 'hi', context_id: 'c1' })
    expect(streamed.status).to.equal(200)
    expect(streamed.headers['content-type']).to.equal('text/event-stream')
    const types = (await collect(streamed)).map((event) => event.type)
    expect(types).to.deep.equal(['start', 'delta', 'delta', 'end'])
    const sent = JSON.parse(server.requests[0]?.body ?? '')
    expect(sent).to.deep.equal({ message: 'hi', context_id: 'c1', stream: true })
    expect(server.requests[0]?.headers.accept).to.match(/^text\/event-stream/)
  })

  it('can be read from a response that is not a stream', async () => {
    await start(json(200, { id: 'm1', response: 'Hello', context_id: 'c1', created_at: 't' }))
    expect(await collect(await client.chat.stream({ message: 'hi' }))).to.deep.equal([
      { type: 'start', id: 'm1', contextId: 'c1' },
      { type: 'delta', text: 'Hello' },
      {
        type: 'end',
        end: 'complete',
        complete: true,
        verified: true,
        id: 'm1',
        contextId: 'c1',
        createdAt: 't',
        text: 'Hello',
        isWholeBody: true,
      },
    ])
  })

  for (const [what, script] of [
    ['a reset connection', sse(deltas, { done: false, ending: 'reset' })],
    ['a missing last chunk', sse(deltas, { done: false, ending: 'unfinished' })],
    ['a clean end without a marker', sse(deltas, { done: false })],
    ['a reset of bare text', stream(['Hel', 'lo'], { type: 'text/plain', ending: 'reset' })],
    ['a missing last chunk of text', stream(['Hel', 'lo'], { type: 'text/plain', ending: 'unfinished' })],
    ['a short body', answer(200, { ...plain, 'content-length': '50', connection: 'close' }, 'Hello')],
    ['silence', sse(deltas, { done: false, ending: 'stalled' })],
  ] as const)
    it(`with ${what} is truncated, keeps its text, and is not requested again`, async () => {
      await start(script, { idleTimeout: heldTimeout })
      // The reader asks for the next piece, and so starts its timer, before the next turn.
      const end = await ask((text) => {
        if (what === 'silence' && text === 'lo') setImmediate(held.fire)
      })
      expect(end).to.include({ complete: false, verified: false, text: 'Hello' })
      expect(end.failure).to.include({ kind: 'truncated', message: end.reason })
      expect(end.failure?.request?.url).to.equal(`${server.url}/api/chat/send`)
      expect(server.requests).to.have.lengthOf(1)
    })

  it('ends at the end marker, whether the connection is closed or not', async () => {
    await start(sse(deltas, { ending: 'stalled' }), { idleTimeout: 60_000 })
    expect(await ask()).to.include({ complete: true, verified: true })
  })

  it('waits briefly for frames after a finish reason', async () => {
    const finish = { choices: [{ delta: {}, finish_reason: 'stop' }] }
    await start([
      sse([...deltas, finish, { usage: { total_tokens: 2 } }], { pause: 20 }),
      sse([finish], { done: false, ending: 'stalled' }),
    ])
    expect(
      (await collect(await client.chat.stream({ message: 'hi' }))).map((event) => event.type),
    ).to.include('usage')
    const end = ask()
    await until(() => held.pending > 0)
    held.fire()
    expect(await end).to.include({ complete: true, verified: true, finishReason: 'stop' })
  })

  it('keeps text after a finish reason as long as bytes arrive', async () => {
    const { promise: second, resolve: sendSecond } = Promise.withResolvers<void>()
    const frame = (content: string) =>
      `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: 'stop' }] })}\n\n`
    await start(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frame('one '))
      await second
      response.write(frame('two'))
    })
    const end = ask()
    await until(() => held.pending === 1)
    sendSecond()
    await until(() => held.started === 2 && held.pending === 1)
    held.fire()
    expect(await end).to.include({ complete: true, text: 'one two', end: 'complete' })
  })

  it('leaves the connection usable for the next request', async () => {
    const ports = new Set<number | undefined>()
    const behavior = sse(deltas)
    await start((request, response, incoming) => {
      ports.add(incoming.socket.remotePort)
      return behavior(request, response, incoming)
    })
    await ask()
    await sleep(20)
    await ask()
    expect(ports).to.have.lengthOf(1)
  })

  it('fails or is retried before its first byte like any other request', async () => {
    await start([
      failing(404, 'no_context', 'No such conversation'),
      reset,
      limited({ 'retry-after': '3' }),
      sse(deltas),
    ])
    expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('not_found')
    expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('unreachable')
    expect(await ask()).to.include({ text: 'Hello' })
    expect(server.requests).to.have.lengthOf(4)
  })

  it('is limited by the timeout until its first byte', async () => {
    await start([silent, stream([], { ending: 'stalled' })], { timeout: 80 })
    for (let turn = 0; turn < 2; turn++)
      expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('timeout')
  })

  it('is not limited by the timeout after its first byte', async () => {
    let finish = () => {}
    await start(
      async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: ${JSON.stringify(deltas[0])}\n\n`)
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        response.end(`data: ${JSON.stringify(deltas[1])}\n\ndata: [DONE]\n\n`)
      },
      { timeout: heldTimeout, idleTimeout: 60_000 },
    )
    const end = await ask(() => {
      held.fire()
      finish()
    })
    expect(end).to.include({ complete: true, text: 'Hello' })
    expect(held.started).to.equal(1)
  })

  it('is paused while it is not read, and the idle timeout does not run', async () => {
    let written = 0
    await start(
      async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' })
        const chunk = 'x'.repeat(64 * 1024)
        for (; written < 64 * 1024 * 1024 && !response.destroyed; written += chunk.length) {
          if (!response.write(chunk))
            await Promise.race([new Promise((resolve) => response.once('drain', resolve)), sleep(400)])
          if (response.writableNeedDrain) break
        }
      },
      { idleTimeout: 60 },
    )
    const reader = (await client.chat.stream({ message: 'hi' }))[Symbol.asyncIterator]()
    await reader.next()
    await until(async () => {
      const before = written
      await sleep(20)
      return written === before
    })
    const held = written
    expect(held).to.be.below(16 * 1024 * 1024)
    expect((await reader.next()).value).to.have.property('type', 'delta')
    await reader.return?.()
  })

  it('closes the connection immediately when it is aborted', async () => {
    const controller = new AbortController()
    let closed = 0
    await start((request, response, incoming) => {
      incoming.socket.on('close', () => closed++)
      return sse(deltas, { done: false, ending: 'stalled' })(request, response, incoming)
    })
    const seen: string[] = []
    const walk = async () => {
      for await (const event of await client.chat.stream({ message: 'hi' }, { signal: controller.signal })) {
        seen.push(event.type)
        if (seen.length === 3) setTimeout(() => controller.abort(new Error('stop')), 20)
      }
    }
    expect(await reasonOf(walk())).to.equal(controller.signal.reason)
    expect(seen).to.deep.equal(['start', 'delta', 'delta'])
    await until(() => closed === 1)
  })

  it('closes the connection when the reader stops', async () => {
    let closed = 0
    await start((request, response, incoming) => {
      incoming.socket.on('close', () => closed++)
      return ndjson(deltas, { ending: 'stalled' })(request, response, incoming)
    })
    for await (const event of await client.chat.stream({ message: 'hi' })) if (event.type === 'delta') break
    await until(() => closed === 1)
  })

  it('redacts the credential in its error', async () => {
    const canary = 'sk-canary-77aa01'
    await start(sse([{ error: { code: 'x', message: `bad ${canary}` } }]), { credential: canary })
    const end = await ask()
    expect(end.reason).to.equal('bad [redacted]')
    expect(everythingIn(end)).not.to.include(canary)
  })
})
