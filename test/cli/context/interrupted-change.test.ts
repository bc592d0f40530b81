import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { type Running, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  json,
  type RecordedRequest,
  silent,
  startScriptedServer,
} from '../../support/scripted-server.ts'

const settings = { app_name: 'Chat', theme: { mode: 'light' } }

/** For each command that makes a change: its request, and a part of the hint after a signal. */
const changes: [args: string[], sent: string, hint: string][] = [
  [['settings', 'set', 'theme.mode=dark'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'apply', 'dark.yaml', '--yes'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'edit', '--yes'], 'PATCH /v1/settings', 'chatctl settings get'],
  [['settings', 'api', 'set', '--version', 'v2'], 'POST /v1/settings/api', 'run the same command again'],
  [['users', 'create', '--password-file', 'password'], 'POST /v1/users', 'The user may exist'],
  [['users', 'update', 'u 1', '--name', 'Ada'], 'PATCH /v1/users/u%201', 'chatctl users get "u 1"'],
  [
    ['users', 'permissions', 'assign', 'u1', 'read:chat'],
    'POST /v1/users/u1/permissions',
    'Permissions cannot be read back',
  ],
  [
    ['users', 'settings', 'set', '--theme', 'dark'],
    'PUT /api/user/settings',
    'with: chatctl settings preferences',
  ],
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
      expect(help)
        .to.match(/^Hint: {2}/)
        .and.to.contain(hint)
    })

  it('during a change prints one JSON error with the request, with --json', async () => {
    const { exitCode, stderr, url } = await interrupt(
      ['users', 'update', 'u1', '--name', 'x', '--json'],
      isChange,
      'SIGTERM',
    )
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
    for (const args of [
      ['settings', 'apply', 'dark.yaml', '--yes'],
      ['settings', 'edit', '--yes'],
    ]) {
      const { exitCode, stderr } = await interrupt(args, () => true)
      expect(exitCode).to.equal(130)
      expect(stderr).to.equal('Error: Interrupted. No change was sent to the service\n')
    }
  })

  it('after a confirmed change reports the change, and that the remaining steps were not done', async () => {
    let isSent = false
    const { exitCode, stderr, url } = await interrupt(
      ['settings', 'set', 'theme.mode=dark'],
      ({ method }) => {
        isSent ||= method === 'PATCH'
        return isSent && method === 'GET'
      },
    )
    expect(exitCode).to.equal(130)
    expect(stderr).to.equal(
      `Error: Interrupted after the service confirmed PATCH ${url}/v1/settings. The remaining steps were not done\n` +
        'Hint:  Check the current settings with: chatctl settings get\n',
    )
  })

  it('during a request that changes nothing ends the run without a message', async () => {
    for (const args of [
      ['settings', 'get'],
      ['api', 'GET', '/v1/new'],
    ])
      expect(await interrupt(args, () => true)).to.include({ exitCode: 130, stdout: '', stderr: '' })
  })
})
