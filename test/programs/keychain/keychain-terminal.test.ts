import { expect } from 'chai'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { bind, Terminal } from '../terminal.ts'
import { startSecretService } from './secret-service.ts'
import { attributesOf, storedKey } from './stored-key.ts'

describeSample('a keychain in a terminal', 2, () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox, 'unanswered'))
  const service = perTest(() => startBearerService(() => true))
  let terminal: Terminal | undefined
  beforeEach(async () => {
    await runProgram(sandbox, ['config', 'set', 'base_url', service.url, '-p', 'work'])
  })
  afterEach(() => {
    terminal?.kill()
  })

  const start = (...args: string[]) => {
    terminal = new Terminal(sandbox, args, keyring.env)
    return bind(terminal)
  }
  const lookup = () => keyring.secretTool(['lookup', ...attributesOf(service)])
  const lockWithKey = () => {
    keyring.secretTool(['store', '--label=of a test', ...attributesOf(service)], storedKey('canary-1'))
    keyring.lock()
  }

  it('stores a key that is prompted for and never shown', async () => {
    const { type, waitFor, end } = start('auth', 'login', '--with-api-key', '-p', 'work')
    await waitFor('API key:')
    type('canary-typed\r')
    expect(await end(), terminal?.shown).to.equal(0)
    expect(terminal?.shown).not.to.contain('canary')
    expect(lookup().stdout).to.equal(storedKey('canary-typed'))
  })

  it('stores nothing after Ctrl-C at the prompt: exit 130', async () => {
    const { type, waitFor, end } = start('auth', 'login', '--with-api-key', '-p', 'work')
    await waitFor('API key:')
    type('canary')
    type('\u0003')
    expect(await end()).to.equal(130)
    expect(terminal?.shown).not.to.match(/canary|Error|This is a bug/)
    expect(lookup()).to.include({ exitCode: 1, stdout: '' })
  })

  it('ends immediately after Ctrl-C while its dialog is open: exit 130', async () => {
    lockWithKey()
    const { type, waitFor, end } = start('chat', 'models', '-p', 'work')
    await waitFor('Waiting for the keychain')
    const pressed = performance.now()
    type('\u0003')
    expect(await end(), terminal?.shown).to.equal(130)
    expect(performance.now() - pressed).to.be.below(1_000)
    expect(terminal?.shown).not.to.match(/Error|This is a bug/)
  })

  it('leaves a person 30 s for its dialog', async () => {
    lockWithKey()
    const started = performance.now()
    const { end } = start('chat', 'models', '-p', 'work')
    expect(await end(), terminal?.shown).to.equal(4)
    expect(performance.now() - started).to.be.within(29_000, 35_000)
    expect(terminal?.shown.match(/Waiting for the keychain/g)).to.have.length(1)
  })
})
