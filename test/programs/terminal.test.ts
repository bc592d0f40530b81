import { expect } from 'chai'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { loginFlags, storeKey } from '../support/sign-in.ts'
import { describeSample } from '../support/take-sample.ts'
import { bind, Terminal } from './terminal.ts'

describeSample('a command in a terminal', 3, () => {
  const sandbox = perTest(createSandbox)
  let terminal: Terminal | undefined
  afterEach(() => {
    terminal?.kill()
  })

  const start = (...args: string[]) => {
    terminal = new Terminal(sandbox, args)
    return terminal
  }
  const users = async () => {
    const run = await runProgram(sandbox, ['service', 'status', '--json'])
    return JSON.parse(run.stdout).users
  }

  it('users create asks for a password, and never shows it', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    for (const prompt of ['Password:', 'Password again:']) {
      await waitFor(prompt)
      type('canary-password')
      // The key of the prompt that shows the typed text.
      type('\u0014')
      type('\r')
    }
    expect(await end()).to.equal(0)
    expect(terminal?.shown).to.contain('ada@example.com')
    expect(terminal?.shown).not.to.contain('canary')
    expect(await users()).to.equal(2)
  })

  it('users create asks for an email address, which may be empty', async () => {
    for (const [typed, exitCode, made] of [
      // The user who runs the command is a user of the embedded service.
      ['', 1, 1],
      ['ada@example.com', 0, 2],
    ] as const) {
      const { type, waitFor, end } = bind(start('users', 'create', '--generate-password', '-p', 'local'))
      await waitFor('Email address (if the service requires one):')
      type(`${typed}\r`)
      expect(await end(), terminal?.shown).to.equal(exitCode)
      expect(await users()).to.equal(made)
    }
  })

  it('auth login asks how to sign in without a flag that names the way', async () => {
    const { type, waitFor, end } = bind(
      start('auth', 'login', '--base-url', 'http://127.0.0.1:9', '--dry-run'),
    )
    await waitFor('How do you want to sign in?')
    type('\r')
    expect(await end(), terminal?.shown).to.equal(0)
  })

  it('users create exits 130 after Ctrl-C at the password, and creates no user', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    await waitFor('Password:')
    type('canary')
    type('\u0003')
    expect(await end()).to.equal(130)
    expect(terminal?.shown).not.to.match(/canary|This is a bug/)
    expect(terminal?.shown).to.contain('Error: Interrupted. No change was sent to the service')
    expect(await users()).to.equal(0)
  })

  it('users create refuses an empty password', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    await waitFor('Password:')
    type('\r')
    expect(await end()).to.equal(2)
    expect(terminal?.shown).to.contain('The password is empty')
    expect(await users()).to.equal(0)
  })

  it('service admin create asks for the password twice', async () => {
    const { type, waitFor, end } = bind(start('service', 'admin', 'create', 'ada@example.com'))
    for (const prompt of ['Password:', 'Password again:']) {
      await waitFor(prompt)
      type('canary-password\r')
    }
    expect(await end(), terminal?.shown).to.equal(0)
    expect(terminal?.shown).not.to.contain('canary')
    expect(await users()).to.equal(2)
  })

  it('service keys revoke revokes the key only if the confirmation prompt is answered with yes', async () => {
    const created = await runProgram(sandbox, ['service', 'keys', 'create', '--name', 'x', '--json'])
    const { id } = JSON.parse(created.stdout)
    const keys = async () =>
      JSON.parse((await runProgram(sandbox, ['service', 'status', '--json'])).stdout).keys
    for (const [answer, exitCode, left] of [
      ['n\r', 3, 1],
      ['\r', 3, 1],
      ['\u0003', 130, 1],
      ['y\r', 0, 0],
    ] as const) {
      const { type, waitFor, end } = bind(start('service', 'keys', 'revoke', 'x'))
      await waitFor(`Revoke the key ${id} (x) permanently?`)
      type(answer)
      expect(await end(), terminal?.shown).to.equal(exitCode)
      expect(await keys()).to.equal(left)
    }
  })

  it('service run prints its URLs as text', async () => {
    const words = ['--port', '0', '--admin-port', '0']
    const { type, waitFor, end } = bind(start('service', 'run', ...words))
    await waitFor('admin create EMAIL')
    expect(terminal?.shown).to.match(/The service listens at http:\S+\. Press Ctrl-C to stop it\./)
    expect(terminal?.shown).to.match(/Data: \/.*Metrics: http:\S+\/metrics.*admin create EMAIL/s)
    expect(terminal?.shown).not.to.contain('{"level"')
    type('\u0003')
    await end()
  })

  it('auth login waits if no browser can be opened, and ends after Ctrl-C', async () => {
    await using server = await startOidcProvider()
    await using service = await startBearerService(async () => true)
    terminal = new Terminal(sandbox, ['auth', 'login', '--web', ...loginFlags({ server, service })], {
      BROWSER: '/nowhere/browser',
    })
    await terminal.waitFor('Then wait, or paste the URL')
    terminal.type('\u0003')
    expect(await terminal.end()).to.equal(130)
  })

  it('auth use and auth logout print a sentence, or rows with -o', async () => {
    await using service = await startBearerService(async () => true)
    await storeKey(sandbox, 'key-1', service)
    expect(await start('auth', 'use', 'work').end()).to.equal(0)
    expect(terminal?.shown.trim()).to.equal('work is now the default profile.')
    expect(await start('auth', 'use', 'work', '-o', 'jsonl').end()).to.equal(0)
    expect(terminal?.shown).to.contain('"value":"work"')
    expect(await start('auth', 'logout', '-p', 'work').end()).to.equal(0)
    expect(terminal?.shown).to.match(
      /^Signed out of work \(http:[\s\S]*may stay valid until it expires or is revoked\./,
    )
  })
})
