import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

describe('an unknown variable that begins with CHATCTL_', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const run = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
    const url = await server.serve(json(200, { id: 'u1', name: 'Ada' }))
    return runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', ...env } })
  }
  const update = ['users', 'update', 'u1', '--name', 'Ada']

  it('is refused by a command that changes something, with the nearest known variable', async () => {
    const refused = await run(update, { CHATCTL_DRYRUN: 'canary' })
    const hint = 'Did you mean CHATCTL_DRY_RUN? Otherwise: unset CHATCTL_DRYRUN'
    expectFailure(refused, 2, 'CHATCTL_DRYRUN is not a variable of chatctl', hint)
    expect(refused.stderr).not.to.contain('canary')
    expect(server.requests).to.deep.equal([])
  })

  it('is a warning of a command that only reads', async () => {
    const { exitCode, stdout, stderr } = await run(['users', 'get', 'u1', '--fields', 'name'], {
      CHATCTL_SOMETHING_ELSE: 'canary',
    })
    expect(exitCode, stderr).to.equal(0)
    expect(stdout).to.equal('Ada\n')
    const words = 'CHATCTL_SOMETHING_ELSE is not a variable of chatctl. Remove it with: unset'
    expect(stderr.replaceAll(/\s+/g, ' ')).to.match(new RegExp(`^Warning: ${words} CHATCTL_SOMETHING_ELSE`))
    expect(stderr).not.to.contain('canary')
  })

  it('is accepted if it is empty, or of the tests and the installer', async () => {
    const env = { CHATCTL_DRYRUN: '', CHATCTL_TEST_SAMPLE: '1', CHATCTL_DOWNLOADS: 'https://x.example' }
    const { exitCode, stderr } = await run(update, env)
    expect(exitCode, stderr).to.equal(0)
    expect(stderr).not.to.contain('is not a variable')
  })
})
