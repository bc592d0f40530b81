import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Client } from '../../../src/client/client.ts'
import { codePoint } from '../../support/code-point.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Running, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  json,
  ndjson,
  type RecordedRequest,
  silent,
  sse,
  startScriptedServer,
  stream,
} from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

const settings = { app_name: 'Chat', theme: { mode: 'light' } }

const assign = ['users', 'permissions', 'assign']
/** For each command that makes a change: its request, and a part of the hint after a signal. */
const changes: [args: string[], sent: string, hint: string][] = [
  [['settings', 'set', 'theme.mode=dark'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'apply', 'dark.yaml', '--yes'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'edit', '--yes'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'api', 'set', '--version', 'v2'], 'POST /v1/settings/api', 'run the same command again'],
  [['users', 'create', '--password-file', 'password'], 'POST /v1/users', 'The user may exist'],
  [['users', 'update', 'u 1', '--name', 'Ada'], 'PATCH /v1/users/u%201', 'chatctl users get "u 1"'],
  [[...assign, 'u1', 'read:chat'], 'POST /v1/users/u1/permissions', 'Permissions cannot be read back'],
  [['users', 'settings', 'set', '--theme', 'dark'], 'PUT /api/user/settings', 'chatctl settings preferences'],
  [['api', 'PATCH', '/v1/users/%zz'], 'PATCH /v1/users/%zz', 'chatctl users get %zz'],
  [['api', 'DELETE', '/v1/new'], 'DELETE /v1/new', 'Check the effect'],
]

describe('a signal', () => {
  const sandbox = perTest(createSandbox)
  beforeEach(() => {
    const editor = join(sandbox.home, 'editor')
    writeFileSync(editor, `#!/bin/sh\nsed -i 's/light/dark/' "$1"\n`, { mode: 0o700 })
    sandbox.env = { ...sandbox.env, EDITOR: editor }
    writeFileSync(join(sandbox.home, 'dark.yaml'), 'theme: { mode: dark }\n')
    writeFileSync(join(sandbox.home, 'password'), 'a long enough password\n')
  })

  /** Sends the signal when a request matches `isAwaited`. That request gets no response. */
  async function interrupt(
    args: readonly string[],
    isAwaited: (request: RecordedRequest, index: number) => boolean,
    signal: 'SIGINT' | 'SIGTERM' = 'SIGINT',
  ) {
    let running: Running | undefined
    const kill: Behavior = (request, response, incoming) => {
      running?.interrupt(signal)
      return silent(request, response, incoming)
    }
    const server = await startScriptedServer({
      choose: (request, index) =>
        isAwaited(request, index) ? kill : json(200, request.method === 'GET' ? settings : {}),
    })
    running = startChatctl(sandbox, args, { service: server })
    running.stdin.end()
    const run = await running.ended
    await server.close()
    return { ...run, url: server.url }
  }

  const isChange = ({ method }: RecordedRequest) => method !== 'GET'

  for (const [args, sent, hint] of changes)
    it(`during ${args.join(' ')} reports an unknown outcome and what to check`, async () => {
      const { exitCode, stdout, stderr, url } = await interrupt(args, isChange)
      expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 130, stdout: '' })
      const [error = '', help = ''] = stderr.slice(stderr.indexOf('Error: ')).split('\n')
      expect(error).to.equal(
        `Error: Interrupted. The outcome of the change is unknown: ${sent.replace(' ', ` ${url}`)} was sent and not confirmed`,
      )
      expect(help.startsWith('Hint:  ') && help, help).to.contain(hint)
    })

  it('during a change prints one JSON error with the request, with --json', async () => {
    const args = ['users', 'update', 'u1', '--name', 'x', '--json']
    const { exitCode, stderr, url } = await interrupt(args, isChange, 'SIGTERM')
    expect(exitCode).to.equal(143)
    const { error } = JSON.parse(stderr)
    expect(error).to.include({ code: 'interrupted', hint: 'Check the user with: chatctl users get u1' })
    expect(error.request).to.deep.equal({ method: 'PATCH', url: `${url}/v1/users/u1` })
  })

  it('during a change with another profile names the profile in the hint', async () => {
    sandbox.env = { ...sandbox.env, XDG_CONFIG_HOME: sandbox.home }
    mkdirSync(join(sandbox.home, 'chatctl'))
    writeFileSync(join(sandbox.home, 'chatctl', 'config.json'), '{"profiles":{"work":{}}}')
    const { stderr } = await interrupt(['settings', 'set', 'theme.mode=dark', '--profile', 'work'], isChange)
    expect(stderr).to.contain('Check the current settings with: chatctl settings get --profile work\n')
  })

  it('before a change is sent reports that nothing was sent', async () => {
    for (const line of ['settings apply dark.yaml --yes', 'settings edit --yes']) {
      const { exitCode, stderr } = await interrupt(line.split(' '), () => true)
      expect(exitCode).to.equal(130)
      expect(stderr).to.equal('Error: Interrupted. No change was sent to the service\n')
    }
  })

  it('after a confirmed change reports the change, and that the remaining steps were not done', async () => {
    let isSent = false
    const args = ['settings', 'set', 'theme.mode=dark']
    const { exitCode, stderr, url } = await interrupt(args, ({ method }) => {
      isSent ||= method === 'PATCH'
      return isSent && method === 'GET'
    })
    expect(exitCode).to.equal(130)
    expect(stderr).to.equal(
      `Error: Interrupted after the service confirmed PATCH ${url}/v1/settings. The remaining steps were not done\n` +
        'Hint:  Check the current settings with: chatctl settings get\n',
    )
  })

  it('during a request that changes nothing ends the run without a message', async () => {
    for (const line of ['settings get', 'api GET /v1/new']) {
      const run = await interrupt(line.split(' '), () => true)
      expect(run).to.include({ exitCode: 130, stdout: '', stderr: '' })
    }
  })
})

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
    const refused = json(200, { success: false, message: 'No credit', response: '' })
    expectFailure(await run(refused, 'chat', 'send', 'Hi'), 1, 'No credit')
    expectFailure(await run(json(200, { id: 'm1' }), 'chat', 'send', 'Hi'), 1, 'contains no reply')
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
    await using server = await startScriptedServer((...given) => behavior(...given))
    const client = new Client({ baseUrl: server.url, retries: 0 })
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
    await client.close()
  })
})
