import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ReplyStream } from '../../../src/client/stream/reply-stream.ts'
import type { StreamEnd, StreamEvent } from '../../../src/contract/stream-event.ts'
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
} from '../../support/fault-server.ts'
import { until } from '../../support/until.ts'
import { everythingIn, failureOf, hurriedClock, reasonOf } from '../capture.ts'
import { scriptedClient } from '../scripted-client.ts'

const deltas = [{ context_id: 'c1', delta: 'Hel' }, { delta: 'lo' }]

describe('streamed answers', () => {
  const { server, client, start } = scriptedClient(() => ({ clock: hurriedClock() }))

  async function collect(answer: ReplyStream): Promise<StreamEvent[]> {
    const events: StreamEvent[] = []
    for await (const event of answer) events.push(event)
    return events
  }

  async function ask(): Promise<StreamEnd> {
    const end = (await collect(await client.chat.stream({ message: 'hi' }))).at(-1)
    if (end?.type !== 'end') throw new Error('the last event is not the end')
    return end
  }

  it('are asked for as such, and come with status and headers', async () => {
    await start(sse(deltas))
    const streamed = await client.chat.stream({ message: 'hi', context_id: 'c1' })
    expect(streamed.status).to.equal(200)
    expect(streamed.headers['content-type']).to.equal('text/event-stream')
    expect((await collect(streamed)).map((event) => event.type)).to.deep.equal([
      'start',
      'delta',
      'delta',
      'end',
    ])
    expect(JSON.parse(server.requests[0]?.body ?? '')).to.deep.equal({
      message: 'hi',
      context_id: 'c1',
      stream: true,
    })
    expect(server.requests[0]?.headers.accept).to.match(/^text\/event-stream/)
  })

  it('may be no stream at all', async () => {
    await start(json(200, { id: 'm1', response: 'Hello', context_id: 'c1', created_at: 't' }))
    expect(await collect(await client.chat.stream({ message: 'hi' }))).to.deep.equal([
      { type: 'start', id: 'm1', contextId: 'c1' },
      { type: 'delta', text: 'Hello' },
      {
        type: 'end',
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

  it('come piece by piece, not at the end', async () => {
    await start(sse(deltas, { pause: 60 }))
    const times: number[] = []
    for await (const event of await client.chat.stream({ message: 'hi' }))
      if (event.type === 'delta') times.push(Date.now())
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.above(30)
  })

  for (const [what, script] of [
    ['a reset', sse(deltas, { done: false, ending: 'reset' })],
    ['a missing last chunk', sse(deltas, { done: false, ending: 'unfinished' })],
    ['a clean end without a marker', sse(deltas, { done: false })],
    ['a reset of bare text', stream(['Hel', 'lo'], { type: 'text/plain', ending: 'reset' })],
    [
      'a missing last chunk of bare text',
      stream(['Hel', 'lo'], { type: 'text/plain', ending: 'unfinished' }),
    ],
    [
      'a short body',
      answer(200, { 'content-type': 'text/plain', 'content-length': '50', connection: 'close' }, 'Hello'),
    ],
    ['silence', sse(deltas, { done: false, ending: 'stalled' })],
  ] as const) {
    it(`are truncated by ${what}, keep their text and are not asked for again`, async () => {
      await start(script, { idleTimeout: 100 })
      const end = await ask()
      expect(end).to.include({ complete: false, verified: false, text: 'Hello' })
      expect(end.failure).to.include({ kind: 'truncated', message: end.reason })
      expect(end.failure?.request?.url).to.equal(`${server.url}/api/chat/send`)
      expect(server.requests).to.have.lengthOf(1)
    })
  }

  it('of bare text that end well are complete but not verified', async () => {
    await start(stream(['Hel', 'lo'], { type: 'text/plain' }))
    expect(await ask()).to.include({ complete: true, verified: false, text: 'Hello' })
  })

  it('are over at the marker, whether the connection is closed or not', async () => {
    await start(sse(deltas, { ending: 'stalled' }), { idleTimeout: 60_000 })
    expect(await ask()).to.include({ complete: true, verified: true })
  })

  it('wait a moment for what follows a finish reason', async () => {
    const finish = { choices: [{ delta: {}, finish_reason: 'stop' }] }
    await start([
      sse([...deltas, finish, { usage: { total_tokens: 2 } }], { pause: 20 }),
      sse([finish], { done: false, ending: 'stalled' }),
    ])
    expect(
      (await collect(await client.chat.stream({ message: 'hi' }))).map((event) => event.type),
    ).to.include('usage')
    expect(await ask()).to.include({ complete: true, verified: true, finishReason: 'stop' })
  })

  it('leave the connection fit for the next request', async () => {
    const ports = new Set<number | undefined>()
    const behaviour = sse(deltas)
    await start((request, response, incoming) => {
      ports.add(incoming.socket.remotePort)
      return behaviour(request, response, incoming)
    })
    await ask()
    await sleep(20)
    await ask()
    expect(ports).to.have.lengthOf(1)
  })

  it('fail before they begin as any request does', async () => {
    await start([
      failing(404, 'no_context', 'No such context'),
      reset,
      limited({ 'retry-after': '3' }),
      sse(deltas),
    ])
    expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('not_found')
    expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('unreachable')
    expect(await ask()).to.include({ text: 'Hello' })
    expect(server.requests).to.have.lengthOf(4)
  })

  it('are bound to their first byte by the timeout', async () => {
    await start([silent, stream([], { ending: 'stalled' })], { timeout: 80 })
    for (let turn = 0; turn < 2; turn++) {
      expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('timeout')
    }
  })

  it('are not bound by the timeout after their first byte', async () => {
    await start(sse([...deltas, ...deltas], { pause: 60 }), { timeout: 100, idleTimeout: 2000 })
    expect(await ask()).to.include({ complete: true })
  })

  it('are paused when nobody reads, and no idle time counts meanwhile', async () => {
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

  it('are aborted upstream at once', async () => {
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

  it('are cut off upstream by who stops reading', async () => {
    let closed = 0
    await start((request, response, incoming) => {
      incoming.socket.on('close', () => closed++)
      return ndjson(deltas, { ending: 'stalled' })(request, response, incoming)
    })
    for await (const event of await client.chat.stream({ message: 'hi' })) if (event.type === 'delta') break
    await until(() => closed === 1)
  })

  for (const coding of ['Identity', '', ' identity ']) {
    it(`are read when they come with the content coding '${coding}', which is none`, async () => {
      const body = 'data: {"delta":"Hello"}\n\ndata: [DONE]\n\n'
      await start(answer(200, { 'content-encoding': coding, 'content-type': 'text/event-stream' }, body))
      expect(await ask()).to.include({ complete: true, text: 'Hello' })
    })
  }

  it('are not read when they come encoded', async () => {
    await start(answer(200, { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' }, 'xx'))
    expect((await failureOf(client.chat.stream({ message: 'hi' }))).kind).to.equal('invalid_response')
  })

  it('do not repeat the credential in their failure', async () => {
    const canary = 'sk-canary-77aa01'
    await start(sse([{ error: { code: 'x', message: `bad ${canary}` } }]), { credential: canary })
    const end = await ask()
    expect(end.reason).to.equal('bad [redacted]')
    expect(everythingIn(end)).not.to.include(canary)
  })
})
