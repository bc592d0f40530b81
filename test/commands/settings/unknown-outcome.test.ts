import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import {
  delayed,
  type FaultServer,
  html502,
  redirect,
  reset,
  startFaultServer,
} from '../../support/fault-server.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { SettingsRun } from './settings-run.ts'

describe('settings apply, set, and edit after a lost response', () => {
  const unknown = 'Error: The outcome of the change is unknown: '

  it('exit 69 and name what to check while the old value is still found', async () => {
    const runs = await Promise.all([0, 1, 2].map(() => SettingsRun.start()))
    const [applying, setting, editing] = runs as [SettingsRun, SettingsRun, SettingsRun]
    for (const { service } of runs) service.otherwise = (method) => (method === 'PATCH' ? html502 : undefined)
    applying.file('base.yaml', 'app_name: New')
    applying.file('more.yaml', 'limits: { max_tokens: 5 }')
    const editor = editing.file('editor', `#!/bin/sh\nsed -i 's/app_name: .*/app_name: New/' "$1"\n`, 0o700)
    // chatctl reads the settings back for five seconds.
    const host = { clock: hurriedClock() }
    const [applied, set, edited] = await Promise.all([
      applying.settings(['apply', 'base.yaml', '--file', 'more.yaml', '--yes'], { host }),
      setting.settings(['set', 'app_name=New', '--json'], { host }),
      editing.settings(['edit', '--yes'], { env: { EDITOR: editor }, host }),
    ])

    expectFailure(
      applied,
      69,
      unknown,
      'HTTP 502',
      'app_name is "Chat", not ',
      'Check the current settings with: chatctl settings get',
    )
    expect(set).to.include({ exitCode: 69, stdout: '' })
    const { error } = JSON.parse(set.stderr)
    expect(error).to.include({
      code: 'unknown_outcome',
      hint: 'Check the current settings with: chatctl settings get app_name',
    })
    expect(error.details.keys).to.deep.equal([{ path: 'app_name', expected: 'New', found: 'Chat' }])
    expectFailure(edited, 69, unknown, 'with: chatctl settings get')
    const kept = /chatctl settings apply (\S+)/.exec(edited.stderr)?.[1] ?? ''
    expect(readFileSync(kept, 'utf8')).to.contain('app_name: New')
    for (const run of runs) {
      expect(run.changes).to.have.length(1)
      await run.stop()
    }
  })

  it('succeed with a warning if the service makes the change only after the timeout', async () => {
    const run = await SettingsRun.start()
    run.service.otherwise = (method) =>
      method === 'PATCH' ? delayed(500, () => run.service.change({ app_name: 'New' })) : undefined
    const { exitCode, stdout, stderr } = await run.settings([
      'set',
      'app_name=New',
      '--json',
      '--timeout',
      '250ms',
    ])
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal(run.service.settings)
    expect(JSON.parse(stderr).warning.message).to.contain('within 250 ms')
    await run.stop()
  })
})

describe('a single change after a lost response', () => {
  const env = () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' })
  const sandbox = perSuite(createSandbox)
  let server: FaultServer
  before(async () => {
    const elsewhere = redirect(303, 'https://elsewhere.example/')
    const lost = { '/v1/settings': reset, '/v1/moved': elsewhere, '/v1/users': elsewhere }
    server = await startFaultServer({
      choose: ({ path }) => lost[path as keyof typeof lost] ?? html502,
    })
  })
  after(async () => {
    await server.close()
  })

  const resend = 'Permissions cannot be read back. To assign them again, run the same command again.'
  for (const [args, hint] of [
    [['users', 'update', 'u 1', '--name', 'Ada'], 'Check the user with: chatctl users get "u 1"'],
    [
      ['users', 'settings', 'set', '--theme', 'dark'],
      'Check your preferences with: chatctl settings preferences',
    ],
    [['users', 'permissions', 'assign', 'u1', 'read:chat'], resend],
    [
      ['settings', 'api', 'set', '--version', 'v2'],
      'cannot be read back. To send it again, run the same command again.',
    ],
    [['api', 'PATCH', '/v1/settings', '--data', '{}'], 'with: chatctl api GET /v1/settings'],
    [['api', 'POST', '/v1/other', '--data', '{}'], 'Check the effect before you send the request again'],
    [['api', 'POST', '/v1/moved', '--data', '{}'], 'Check the effect before you send the request again'],
  ] as const) {
    it(`exits 69 and names what to check: ${args.join(' ')}`, async () => {
      const run = await runChatctl(sandbox, [...args, '--retries', '0'], {
        env: env(),
      })
      // `api` prints the body of an error.
      const stdout = args[0] === 'api' ? '' : run.stdout
      expectFailure({ ...run, stdout }, 69, 'Error: The outcome of the change is unknown: ', hint)
    })
  }
})
