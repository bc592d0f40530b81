import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { Client } from '../../src/client/client.ts'
import type { StreamEvent } from '../../src/contract/resources/stream-event.ts'
import { closing, perTest } from '../support/lifetime.ts'
import { delayed, failing, json, type Script, silent, sse, stream } from '../support/scripted-server.ts'
import { until } from '../support/until.ts'
import { failureOf, reasonOf } from './capture.ts'
import { heldTimeout, holdTimers } from './hold-timers.ts'
import { scriptedClient } from './scripted-client.ts'

describe('a request with a timeout or an abort signal', () => {
  const { server, client, start } = scriptedClient(() => ({ retries: 0 }))
  const held = holdTimers(heldTimeout)

  it('fails if the response headers do not arrive within the timeout', async () => {
    await start(silent, { timeout: heldTimeout })
    const failing = failureOf(client.settings.get())
    await until(() => server.requests.length === 1)
    held.fire()
    const failure = await failing
    expect(failure).to.include({ kind: 'timeout', message: `No response from ${server.url} within 77 s` })
  })

  it('fails if the whole response body does not arrive within the timeout', async () => {
    await start(stream(['{', ' ', ' ', ' ', ' ', '}'], { pause: 60 }), { timeout: 150 })
    expect((await failureOf(client.settings.get())).kind).to.equal('timeout')
  })

  it('applies the timeout to each attempt separately', async () => {
    await start([silent, json(200, {})], { timeout: heldTimeout, retries: 1 })
    const response = client.settings.get()
    await until(() => server.requests.length === 1)
    held.fire()
    expect((await response).status).to.equal(200)
    expect(held.started).to.equal(2)
  })

  for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31, 1e12])
    it(`succeeds with a timeout of ${ms} ms`, async () => {
      await start([delayed(50, json(200, {})), sse([{ delta: 'a' }], { pause: 30 })], {
        timeout: ms,
        idleTimeout: ms,
        connectTimeout: ms,
      })
      expect((await client.settings.get()).status).to.equal(200)
      const events: string[] = []
      for await (const event of await client.chat.stream({ message: 'hi' })) events.push(event.type)
      expect(events).to.deep.equal(['start', 'delta', 'end'])
    })

  describe('when the connection is not established', () => {
    const mute = perTest(() => createServer((socket) => socket.on('error', () => undefined)))

    beforeEach(async () => {
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    })

    it('fails if the TLS handshake exceeds the connect timeout', async () => {
      await start(silent)
      const { port } = mute.address() as AddressInfo
      const options = { baseUrl: `https://127.0.0.1:${port}`, retries: 0 }
      await using hasty = closing(new Client({ ...options, connectTimeout: 80 }))
      const failure = await failureOf(hasty.users.create({}))
      expect(failure.kind).to.equal('timeout')
      expect(failure.message).to.match(/^Cannot reach https:\/\/127\.0\.0\.1:\d+: connection timed out$/)
      expect(hintOf(failure)).to.equal(undefined)
    })

    it('ends immediately when it is aborted', async () => {
      await start(silent)
      const { port } = mute.address() as AddressInfo
      const controller = new AbortController()
      await using other = closing(
        new Client({
          baseUrl: `https://127.0.0.1:${port}`,
          connectTimeout: 60_000,
          signal: controller.signal,
        }),
      )
      setTimeout(() => controller.abort(new Error('stop')), 30)
      expect(await reasonOf(other.settings.get())).to.equal(controller.signal.reason)
    })
  })

  it('rejects with the reason of an abort, and closes the connection', async () => {
    const controller = new AbortController()
    let closed: () => void = () => undefined
    const gone = new Promise<void>((resolve) => {
      closed = resolve
    })
    await start(
      (_, __, incoming) => {
        incoming.socket.on('close', closed)
        controller.abort(new Error('stop'))
      },
      { signal: controller.signal },
    )
    expect(await reasonOf(client.settings.get())).to.equal(controller.signal.reason)
    await gone
    expect(server.requests).to.have.lengthOf(1)
  })

  it('continues if another request is aborted', async () => {
    await start({ choose: (request) => (request.path === '/slow' ? silent : json(200, {})) })
    const controller = new AbortController()
    const slow = reasonOf(client.send({ method: 'GET', path: '/slow', signal: controller.signal }))
    const quick = client.settings.get()
    controller.abort('enough')
    expect(await slow).to.equal('enough')
    expect((await quick).status).to.equal(200)
  })

  it('is not sent if the signal is already aborted', async () => {
    await start(json(200, {}), { signal: AbortSignal.abort('early') })
    expect(await reasonOf(client.settings.get())).to.equal('early')
    expect(server.requests).to.have.lengthOf(0)
  })

  it('fails if the client is closed', async () => {
    await start(silent)
    const pending = failureOf(client.settings.get())
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await client.close()
    expect((await pending).kind).to.equal('unreachable')
  })
})

const ask = { messages: [{ role: 'user' as const, content: 'hi' }] }
const reply = { response: 'x', choices: [{ message: { role: 'assistant', content: 'x' } }], data: [] }
const unknown = /may have taken effect/

describe('the timeout of a reply', () => {
  const { server, client, start } = scriptedClient(() => ({ retries: 0 }))
  const held = holdTimers(heldTimeout)

  /** The longest timer, in ms, that is started while `run` runs. */
  async function longestTimerOf(run: () => Promise<unknown>): Promise<number> {
    const { setTimeout: real } = globalThis
    const delays: number[] = []
    globalThis.setTimeout = Object.assign((...args: Parameters<typeof real>) => {
      delays.push(args[1] ?? 0)
      return real(...args)
    }, real)
    try {
      await run()
    } finally {
      globalThis.setTimeout = real
    }
    return Math.max(...delays.filter((ms) => ms <= 3_600_000))
  }

  const requests: [string, number, (given: Client) => Promise<unknown>][] = [
    ['a completion', 600_000, (given) => given.chat.complete(ask)],
    ['a message', 600_000, (given) => given.chat.send({ message: 'hi' })],
    ['the first byte of a streamed message', 600_000, (given) => given.chat.collect({ message: 'hi' })],
    [
      'a completion sent as a raw request',
      600_000,
      (given) => given.send({ method: 'post', path: '/v1/chat/completions?x=1', body: '{}' }),
    ],
    ['the list of models', 60_000, (given) => given.chat.models()],
  ]
  for (const [what, ms, run] of requests)
    it(`is ${ms / 60_000} min by default for ${what}`, async () => {
      await start(json(200, reply))
      expect(await longestTimerOf(() => run(client))).to.equal(ms)
    })

  it('is the configured timeout if one is set', async () => {
    await start(json(200, reply), { timeout: 5000 })
    expect(await longestTimerOf(() => client.chat.complete(ask))).to.equal(5000)
  })

  it('applies to each pause of a message that is collected before it is shown', async () => {
    const events = [{ context_id: 'c1', delta: '' }, { delta: 'x' }, { done: true }]
    const slow = stream(
      events.map((event) => `data: ${JSON.stringify(event)}\n\n`),
      { pause: 200 },
    )
    await start(slow, { timeout: 30_000, idleTimeout: 50 })
    expect((await client.chat.collect({ message: 'hi' })).body).to.deep.equal({
      context_id: 'c1',
      response: 'x',
      end: 'complete',
    })
  })

  it('is named in the error of a collected message that pauses for longer', async () => {
    await start(stream(['data: {"delta": "x"}\n\n'], { ending: 'stalled' }), {
      timeout: heldTimeout,
      idleTimeout: 50,
    })
    const failing = failureOf(client.chat.collect({ message: 'hi' }))
    await until(() => held.started === 2)
    held.fire()
    const failure = await failing
    expect(failure).to.include({
      kind: 'truncated',
      isOutcomeUnknown: true,
      message: 'The response was truncated: no data for 77 s',
    })
    expect(hintOf(failure))
      .to.match(unknown)
      .and.match(/--timeout 154s$/)
  })

  for (const call of ['stream', 'collect'] as const)
    it(`bounds each pause with chat.${call}, and comments do not extend it`, async () => {
      await start(
        async (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write('data: {"delta": "x"}\n\n')
          await until(() => held.started === 2)
          for (const text of [...Array(5).fill(': waiting for the model'), 'data: {"delta": "y"}']) {
            response.write(`${text}\n\n`)
            await sleep(10)
          }
        },
        { timeout: heldTimeout },
      )
      // Its third timer begins after the second piece, unless a comment has started one.
      const expire = until(() => held.started === 3).then(held.fire)
      const reason = 'The response was truncated: no data for 77 s'
      if (call === 'collect')
        expect((await failureOf(client.chat.collect({ message: 'hi' }))).message).to.equal(reason)
      else {
        const events: StreamEvent[] = []
        for await (const event of await client.chat.stream({ message: 'hi' })) events.push(event)
        expect(events.at(-1)).to.include({ type: 'end', reason, text: 'xy' })
      }
      await expire
    })

  it('is named in the error of a completion, whose outcome is not unknown', async () => {
    await start(silent, { timeout: 30 })
    const failure = await failureOf(client.chat.complete(ask))
    expect(failure).to.include({ kind: 'timeout', isOutcomeUnknown: false })
    expect(hintOf(failure)).to.equal('Allow more time with: --timeout 1s')
  })

  it('is named in the error of a message, whose outcome is unknown', async () => {
    await start(silent, { timeout: heldTimeout })
    const failing = failureOf(client.chat.send({ message: 'hi' }))
    await until(() => server.requests.length === 1)
    held.fire()
    const failure = await failing
    expect(failure).to.include({ kind: 'timeout', isOutcomeUnknown: true })
    expect(hintOf(failure))
      .to.match(unknown)
      .and.match(/--timeout 154s$/)
  })

  for (const [what, behavior] of [
    ['a 502', failing(502, 'bad_gateway', 'The model failed')],
    ['a reset', (_: unknown, __: unknown, incoming) => void incoming.socket.resetAndDestroy()],
  ] as [string, Script][])
    it(`is like ${what}, which leaves the outcome of a message unknown, but not that of a completion`, async () => {
      await start(behavior)
      const failure = await failureOf(client.chat.complete(ask))
      expect(failure.isOutcomeUnknown).to.equal(false)
      expect(hintOf(failure) ?? '').not.to.match(unknown)
      const sent = await failureOf(client.chat.send({ message: 'hi' }))
      expect(sent.isOutcomeUnknown).to.equal(true)
      expect(hintOf(sent)).to.match(unknown)
    })
})
