import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { owner } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { programsLeft, runTimed } from '../timed-run.ts'
import { type Dialog, type SecretService, startSecretService } from './secret-service.ts'
import { browserSignIn } from './sign-in-with-keychain.ts'
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
  afterEach(async () => {
    expect(await programsLeft(sandbox), 'processes that are left').to.deep.equal([])
    await keyring.close()
  })

  /** Starts a keychain that is locked while the service responds, unless the test says what happens. */
  const start = async (dialog: Dialog, happens = () => keyring.lock()) => {
    keyring = await startSecretService(sandbox, dialog)
    meanwhile = happens
  }
  const login = (key: string) => loginWithKey(sandbox, service, key, { env: keyring.env })
  const isConfigured = () => existsSync(join(sandbox.home, '.config', 'chatctl', 'config.json'))

  it('leaves no profile if it is locked in between and its dialog is dismissed', async () => {
    await start('dismissed')
    expectCode(await login('canary-1'), 'keychain_locked')
    expect(isConfigured()).to.equal(false)
  })

  for (const [title, isSlow] of [
    ['causes a timeout if it is locked in between and its dialog is not answered', false],
    ['is reported as waiting once if it is slow to read and then locked', true],
  ] as const)
    it(title, async () => {
      await start('unanswered')
      if (isSlow) {
        keyring.stop()
        setTimeout(() => keyring.resume(), 3_500)
      }
      const run = await login('canary-1')
      expectCode(run, 'keychain_timeout')
      expect(linesOf(run), run.stderr).to.have.length(2)
      expect(isConfigured()).to.equal(false)
    })

  it('ends immediately after Ctrl-C at its dialog', async () => {
    await start('unanswered')
    const args = ['auth', 'login', '--with-api-key', '-p', 'work', '--base-url', service.url]
    const run = await runTimed(sandbox, args, { env: keyring.env, interrupt: 'when it says that it waits' })
    expect(run.exitCode, run.stderr).to.equal(130)
    expect(run.endedAfter).to.be.below(1_000)
    expect(isConfigured()).to.equal(false)
  })

  it('keeps the old key if it is stopped in between, also when it resumes', async () => {
    await start('dismissed', () => {})
    expect(await login('canary-old')).to.include({ exitCode: 0 })
    meanwhile = () => keyring.stop()
    expectCode(await login('canary-new'), 'keychain_timeout')
    keyring.resume()
    await sleep(500)
    const { stdout } = keyring.secretTool(['lookup', ...attributesOf(service)])
    expect(stdout).to.equal(storedKey('canary-old'))
  })

  it('is a warning if it is locked while a token is renewed, and the command succeeds', async () => {
    await start('dismissed')
    await using parties = await browserSignIn(sandbox, keyring)
    parties.lockAtRenewal()
    const { env } = keyring
    const run = await runProgram(sandbox, ['chat', 'models', '-p', 'work', '--json'], { env })
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(linesOf(run).flatMap(({ warning }) => warning?.message ?? [])).to.have.length(1)
    expect(run.stderr).not.to.match(/access-token|refresh-token/)
  })
})
