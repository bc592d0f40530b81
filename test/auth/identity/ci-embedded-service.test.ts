import { expect } from 'chai'
import { openIdMetadata, startAuthorizationServer } from '../../support/authorization-server.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

const subject = 'repo:acme/app:ref:refs/heads/main'

describe('a CI job and the embedded service', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const service = perSuite(() => serveInProcess(sandbox))
  const issuer = perSuite(() => startAuthorizationServer({ metadataPath: openIdMetadata }))

  const machine = (...args: string[]) => runChatctl(sandbox, args)
  /** Runs a command as a job does that has an identity token for the service. */
  async function job(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
    const token = await issuer.sign({ sub: subject, aud: service.url })
    const base = { CHATCTL_BASE_URL: service.url, CHATCTL_OIDC: 'gitlab', CHATCTL_ID_TOKEN: token }
    return runChatctl(sandbox, args, { env: { ...base, ...env } })
  }

  it('is refused until it is trusted, with the command that helps', async () => {
    const refused = await job(['settings', 'get'])
    expectFailure(refused, 4, 'the identity token was rejected', `sub ${subject}`, `aud ${service.url}`)
    const line = /run there: chatctl (service trust create NAME .*)$/m.exec(refused.stderr)?.[1] ?? ''
    const words = line.replace('NAME', 'deploy').replace('PERMISSION', 'read:settings').split(' ')
    expect(await machine(...words)).to.include({ exitCode: 0, stderr: '' })
    const { exitCode, stdout, stderr } = await job(['settings', 'get', '--json'])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).to.have.property('app_name')
  })

  it('has exactly the permissions of the trust', async () => {
    const refused = await job(['settings', 'set', 'app_name=x'])
    expect(refused).to.include({ exitCode: 5, stdout: '' })
    expect(refused.stderr).to.contain('write:settings')
  })

  it('gets its token from GitHub too, for the origin of the base URL', async () => {
    await using github = await startScriptedServer(
      json(200, { value: await issuer.sign({ sub: subject, aud: service.url }) }),
    )
    const env = {
      CHATCTL_OIDC: 'github',
      ACTIONS_ID_TOKEN_REQUEST_URL: github.url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    }
    expect(await job(['settings', 'get'], env)).to.include({ exitCode: 0, stderr: '' })
    const script =
      'test "$CHATCTL_API_KEY" -a -z "$ACTIONS_ID_TOKEN_REQUEST_URL$ACTIONS_ID_TOKEN_REQUEST_TOKEN"'
    expect(await job(['exec', '--for', '15m', '--', 'sh', '-c', script], env)).to.include({
      exitCode: 0,
      stderr: '',
    })
    expect(github.requests[0]?.path).to.equal(`/?audience=${encodeURIComponent(service.url)}`)
  })

  it('keeps its access token for the whole job with auth login --ci, until the trust is revoked', async () => {
    const login = await job(['auth', 'login', '--ci', '--profile', 'job', '--insecure-storage', '--json'])
    expect(login.exitCode, login.stderr).to.equal(0)
    const shown = JSON.parse(login.stdout)
    expect(shown).to.include({ profile: 'job', kind: 'oauth', verified: true })
    expect(Date.parse(shown.expires_at)).to.be.above(Date.now())
    expect(await machine('settings', 'get', '--profile', 'job')).to.include({ exitCode: 0 })
    expect(await machine('service', 'trust', 'revoke', 'deploy', '--yes')).to.include({ exitCode: 0 })
    expectFailure(await machine('settings', 'get', '--profile', 'job'), 4, 'profile "job"')
    expectFailure(await job(['settings', 'get']), 4, 'the identity token was rejected')
  })
})
