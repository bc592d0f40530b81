import { expect } from 'chai'
import { diagnose } from '../commands/doctor/checks.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { startSecretService } from './keychain/secret-service.ts'
import { noBus } from './keychain/session-bus.ts'
import { loginWithKey } from './keychain/stored-key.ts'
import { Tmux } from './tmux.ts'

const key = 'canary-of-the-keychain'

describeSample('doctor with a keychain', 2, () => {
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  const service = perTest(() => startBearerService((secret) => secret === key))
  const keyring = perTest(() => startSecretService(sandbox))
  beforeEach(async () => {
    expect(await loginWithKey(sandbox, service, key, { env: keyring.env })).to.include({ exitCode: 0 })
  })

  const ofWork = (env: NodeJS.ProcessEnv) =>
    diagnose(sandbox, ['-p', 'work', '--timeout', '2s', '--quiet'], { env }, runProgram)

  it('reports the credential in use, without the secret', async () => {
    const { all, found } = await ofWork(keyring.env)
    expect(found('credential')).to.include({ status: 'ok', message: 'the keychain, profile work (API key)' })
    expect(found('keychain')).to.include({ status: 'ok', message: 'available' })
    expect(JSON.stringify(all)).not.to.contain('canary')
  })

  it('reports a failure if the keychain is locked and needed, and does not prompt otherwise', async () => {
    keyring.lock()
    const needed = await ofWork(keyring.env)
    expect(needed.exitCode).to.equal(4)
    expect(needed.found('credential').message).to.match(/keychain/)
    expect(needed.found('service').status).to.equal('skipped')
    const env = { ...keyring.env, CHATCTL_API_KEY: key, CHATCTL_BASE_URL: service.url }
    const unneeded = await diagnose(sandbox, [], { env })
    expect(unneeded.found('credential').status).to.equal('ok')
    expect(unneeded.found('keychain').status).to.be.oneOf(['ok', 'skipped'])
  })

  it('ends in time if the keychain does not respond', async () => {
    keyring.stop()
    const startedAt = performance.now()
    const { exitCode, found } = await ofWork(keyring.env)
    expect(exitCode).to.be.oneOf([4, 69])
    expect(found('credential').status).to.equal('failed')
    expect(performance.now() - startedAt).to.be.below(20_000)
    keyring.resume()
  })

  it('reports a failure without a keychain only if it is needed', async () => {
    const needed = await ofWork(noBus('no address'))
    expect(needed.exitCode).to.equal(4)
    expect(needed.found('credential').hint).to.contain('--insecure-storage')
    const local = await diagnose(sandbox, ['-p', 'local'], { env: noBus('no address') })
    expect(local.found('keychain').status).to.equal('skipped')
    expect(local.exitCode).to.equal(0)
  })

  describe('shell completion', () => {
    const offering = perTest(() => startScriptedServer(json(200, { data: [{ id: 'small' }] })))
    const complete = () =>
      runProgram(sandbox, ['complete', '--', 'chat', 'send', '-p', 'home', '--model', ''], {
        env: keyring.env,
      })
    beforeEach(() =>
      loginWithKey(sandbox, offering, key, { env: keyring.env, flags: ['--no-verify'], profile: 'home' }),
    )

    it('offers no models and does not wait if the keychain is locked', async () => {
      keyring.lock()
      expect(await complete()).to.deep.equal({ exitCode: 0, stdout: '', stderr: '' })
      expect(offering.requests).to.deep.equal([])
    })

    it('offers the models of the profile if the keychain is unlocked', async () => {
      expect(await complete()).to.deep.equal({ exitCode: 0, stdout: 'small\n', stderr: '' })
    })
  })
})

describe('doctor in a terminal', () => {
  const sandbox = perTest(createSandbox)

  it('names the status of each check, and fits the width', async () => {
    const env = { LANG: 'C.UTF-8' }
    await using terminal = await Tmux.start(sandbox, ['doctor'], { columns: 60, rows: 60, env })
    expect(await terminal.exitCode()).to.equal(0)
    const screen = await terminal.screen()
    expect(screen).to.match(/^ok +version +chatctl/m)
    expect(screen).to.match(/^skipped +network +not needed by the embedded service$/m)
    expect(screen).to.match(/^No problems found\.$/m)
  })

  for (const env of [{ TERM: 'dumb', LANG: 'C.UTF-8' }, { LC_ALL: 'C' }])
    it(`uses ASCII with ${Object.values(env).join(' and ')}`, async () => {
      await using terminal = await Tmux.start(sandbox, ['doctor'], { columns: 80, rows: 60, env })
      expect(await terminal.exitCode()).to.equal(0)
      expect(await terminal.screen())
        .to.match(/^ok +version +chatctl/m)
        .and.match(/^[\n -~]+$/)
    })
})
