import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { owner, startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startBuiltLogin } from '../../support/login-process.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { programsLeft, runTimed } from '../timed-run.ts'
import { type Dialog, type SecretService, startSecretService } from './secret-service.ts'
import { attributesOf, expectCode, linesOf, loginWithKey, storedKey } from './stored-key.ts'

describeSample('a keychain that can be read and then not written', 1, () => {
  const sandbox = perTest(createSandbox)
  // A login reads the keychain, asks the service, and writes the keychain: the service acts in between.
  const service = perTest(() =>
    startScriptedServer((...exchange) => {
      meanwhile()
      return json(200, owner)(...exchange)
    }),
  )
  let keyring: SecretService
  let meanwhile: () => void
  beforeEach(() => {
    meanwhile = () => {}
  })
  afterEach(async () => {
    expect(await programsLeft(sandbox), 'processes that are left').to.deep.equal([])
    await keyring.close()
  })

  const start = async (dialog: Dialog) => {
    keyring = await startSecretService(sandbox, dialog)
  }
  const login = (key: string) => loginWithKey(sandbox, service, key, { env: keyring.env })
  const isConfigured = () => existsSync(join(sandbox.home, '.config', 'chatctl', 'config.json'))
  const lookup = () => keyring.secretTool(['lookup', ...attributesOf(service)])

  it('leaves no profile if it is locked in between and its dialog is dismissed', async () => {
    await start('dismissed')
    meanwhile = () => keyring.lock()
    expectCode(await login('canary-1'), 'keychain_locked')
    expect(isConfigured()).to.equal(false)
  })

  it('causes a timeout if it is locked in between and its dialog is not answered', async () => {
    await start('unanswered')
    meanwhile = () => keyring.lock()
    const run = await login('canary-1')
    expectCode(run, 'keychain_timeout')
    expect(linesOf(run)).to.have.length(2)
    expect(isConfigured()).to.equal(false)
  })

  it('is reported as waiting once if it is slow to read and then locked', async () => {
    await start('unanswered')
    meanwhile = () => keyring.lock()
    keyring.stop()
    setTimeout(() => keyring.resume(), 3_500)
    const run = await login('canary-1')
    expectCode(run, 'keychain_timeout')
    expect(linesOf(run), run.stderr).to.have.length(2)
  })

  it('ends immediately after Ctrl-C at its dialog', async () => {
    await start('unanswered')
    meanwhile = () => keyring.lock()
    const args = ['auth', 'login', '--with-api-key', '-p', 'work', '--base-url', service.url]
    const run = await runTimed(sandbox, args, { env: keyring.env, interrupt: 'when it says that it waits' })
    expect(run.exitCode, run.stderr).to.equal(130)
    expect(run.endedAfter).to.be.below(1_000)
    expect(isConfigured()).to.equal(false)
  })

  it('keeps the old key if it is stopped in between, also when it resumes', async () => {
    await start('dismissed')
    expect(await login('canary-old')).to.include({ exitCode: 0 })
    meanwhile = () => keyring.stop()
    expectCode(await login('canary-new'), 'keychain_timeout')
    keyring.resume()
    await sleep(500)
    expect(lookup().stdout).to.equal(storedKey('canary-old'))
  })

  it('is a warning if it is locked while a token is renewed, and the command succeeds', async () => {
    await start('dismissed')
    await using server = await startAuthorizationServer()
    await using chat = await startBearerService((token) => server.live.has(token))
    const { env } = keyring
    const parties = ['--base-url', chat.url, '--auth-url', server.url, '--client-id', server.clientId]
    const signIn = startBuiltLogin(sandbox, ['-p', 'oauth', ...parties, '--no-browser'], { env })
    await fetch(await signIn.address())
    expect(await signIn.ended).to.include({ exitCode: 0 })
    server.live.clear()
    server.script.token = [
      (...exchange) => {
        keyring.lock()
        return server.tokens()(...exchange)
      },
    ]
    const run = await runProgram(sandbox, ['chat', 'models', '-p', 'oauth', '--json'], { env })
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(linesOf(run).flatMap(({ warning }) => warning?.message ?? [])).to.have.length(1)
    expect(run.stderr).not.to.match(/access-token|refresh-token/)
  })
})
