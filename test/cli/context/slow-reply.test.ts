import { expect } from 'chai'
import fc from 'fast-check'
import { Client } from '../../../src/client/client.ts'
import { codePoint } from '../../support/code-point.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import {
  type Behavior,
  json,
  ndjson,
  silent,
  sse,
  startScriptedServer,
  stream,
} from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

const body = { id: 'm1', response: 'A long reply', context_id: 'c1', created_at: '2026-01-02T03:04:05Z' }
const { response: _, ...names } = body
/** The events that the embedded service sends. */
const pieces = [
  { ...names, delta: 'A long' },
  { ...names, delta: ' reply' },
]
const events = [
  ...pieces.map((data) => `event: delta\ndata: ${JSON.stringify(data)}\n\n`),
  `event: done\ndata: ${JSON.stringify({ ...body, model: 'm', finish_reason: 'stop' })}\n\n`,
]

describe('chat send without a terminal', function () {
  this.timeout(60_000)
  const served = serveRuns()

  const run = (behavior: Behavior, ...args: string[]) => served.run(args, behavior)
  const done = (stdout: string) => ({ exitCode: 0, stdout, stderr: '' })

  it('waits for a streamed reply longer than the timeout', async () => {
    const shown = await run(stream(events, { pause: 450 }), 'chat', 'send', 'Hi', '--timeout', '700ms')
    expect(shown).to.deep.include(done('A long reply\n'))
    expect(JSON.parse(served.server?.requests[0]?.body ?? '')).to.deep.equal({ message: 'Hi', stream: true })
  })

  it('prints with --json the body that the service would send without streaming', async () => {
    const { stdout } = await run(stream(events), 'chat', 'send', 'Hi', '--json')
    expect(stdout).to.equal(
      `${JSON.stringify({ ...body, finish_reason: 'stop', end: 'complete', model: 'm' }, null, 2)}\n`,
    )
  })

  it('prints nothing of an incomplete reply, and --continue uses its conversation', async () => {
    const half = sse([{ context_id: 'c7', delta: 'Half' }], { done: false })
    const cut = await served.run(['chat', 'send', 'Hi'], [half, json(200, body)])
    const { server, sandbox } = served
    const env = { CHATCTL_BASE_URL: server?.url, CHATCTL_API_KEY: 'some-key' }
    expectFailure(cut, 69, 'without a final event', 'may have taken effect')
    await runChatctl(sandbox, ['chat', 'send', '--continue', 'Again'], { env })
    expect(JSON.parse(server?.requests[1]?.body ?? '')).to.include({ context_id: 'c7' })
  })

  it('fails if the service does not stream and reports a failure', async () => {
    expectFailure(
      await run(json(200, { success: false, message: 'No credit', response: '' }), 'chat', 'send', 'Hi'),
      1,
      'No credit',
    )
    expectFailure(
      await run(json(200, { id: 'm1' }), 'chat', 'send', 'Hi'),
      1,
      'The response contains no reply',
    )
  })

  it('requests a reply that is not streamed with --no-stream', async () => {
    expect(await run(json(200, body), 'chat', 'send', 'Hi', '--no-stream')).to.include(done('A long reply\n'))
    expect(JSON.parse(served.server?.requests[0]?.body ?? '')).to.deep.equal({ message: 'Hi' })
  })

  it('suggests a longer --timeout if no response arrives', async () => {
    const late = await run(silent, 'chat', 'send', 'Hi', '--timeout', '100ms')
    expectFailure(late, 69, 'within 100 ms', 'may have taken effect', '--timeout 1s')
  })
})

describe('the body collected from a stream', () => {
  it('is the same for every stream format and every split', async () => {
    const parts = fc.array(fc.string({ minLength: 1, unit: codePoint }), { minLength: 1, maxLength: 8 })
    const form = fc.constantFrom('sse', 'ndjson', 'json')
    let behavior: Behavior = silent
    const server = await startScriptedServer((...given) => behavior(...given))
    const client = new Client({ baseUrl: server.url, retries: 0 })
    try {
      await fc.assert(
        fc.asyncProperty(parts, form, async (texts, kind) => {
          const whole = { ...body, response: texts.join('') }
          const frames = texts.map((delta) => ({ ...names, delta, done: false }))
          if (kind === 'json') behavior = json(200, whole)
          else if (kind === 'sse') behavior = sse(frames)
          else behavior = ndjson([...frames, { ...names, done: true }])
          const { body: collected } = await client.chat.collect({ message: 'hi' })
          const end = kind === 'json' ? {} : { end: 'complete' }
          expect(collected).to.deep.equal(JSON.parse(JSON.stringify({ ...whole, ...end })))
        }),
        { numRuns: 60, seed: 13 },
      )
    } finally {
      await client.close()
      await server.close()
    }
  })
})
