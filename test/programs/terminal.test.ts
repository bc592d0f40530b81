import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../support/authorization-server.ts'
import { readCredential } from '../support/credential-files.ts'
import { owner, startBearerService } from '../support/handlers/bearer.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { binary } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, serveHandler, silent, startScriptedServer } from '../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../support/sign-in.ts'
import { agreeByHttp, signInByHttp } from '../support/sign-in-by-http.ts'
import { describeSample } from '../support/take-sample.ts'
import { until } from '../support/until.ts'
import { Terminal } from './terminal.ts'
import { Tmux } from './tmux.ts'

describeSample('a command in a terminal', 2, () => {
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
    const { type, waitFor, end } = start('users', 'create', '--email', 'ada@example.com', '-p', 'local')
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
      const { type, waitFor, end } = start('users', 'create', '--generate-password', '-p', 'local')
      await waitFor('Email address (if the service requires one):')
      type(`${typed}\r`)
      expect(await end(), terminal?.shown).to.equal(exitCode)
      expect(await users()).to.equal(made)
    }
  })

  it('auth login asks how to sign in without a flag that names the way', async () => {
    const { type, waitFor, end } = start('auth', 'login', '--base-url', 'http://127.0.0.1:9', '--dry-run')
    await waitFor('How do you want to sign in?')
    type('\r')
    expect(await end(), terminal?.shown).to.equal(0)
  })

  for (const [title, typed, exitCode, error] of [
    ['Ctrl-C', 'canary\u0003', 130, 'Error: Interrupted. No change was sent to the service'],
    ['an empty password', '\r', 2, 'The password is empty'],
  ] as const)
    it(`users create exits ${exitCode} after ${title}, and creates no user`, async () => {
      const { type, waitFor, end } = start('users', 'create', '--email', 'ada@example.com', '-p', 'local')
      await waitFor('Password:')
      for (const key of typed) type(key)
      expect(await end()).to.equal(exitCode)
      expect(terminal?.shown).to.contain(error)
      expect(terminal?.shown).not.to.match(/canary|This is a bug/)
      expect(await users()).to.equal(0)
    })

  it('service admin create asks for the password twice', async () => {
    const { type, waitFor, end } = start('service', 'admin', 'create', 'ada@example.com')
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
      const { type, waitFor, end } = start('service', 'keys', 'revoke', 'x')
      await waitFor(`Revoke the key ${id} (x) permanently?`)
      type(answer)
      expect(await end(), terminal?.shown).to.equal(exitCode)
      expect(await keys()).to.equal(left)
    }
  })

  it('service run prints its URLs as text', async () => {
    const words = ['--port', '0', '--admin-port', '0']
    const { type, waitFor, end } = start('service', 'run', ...words)
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

describeSample('importing a file in a terminal', 2, () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ delay: 5 })))
  let terminal: Terminal | undefined
  let path: string
  let user: string
  beforeEach(() => {
    sandbox.env['CHATCTL_BASE_URL'] = server.url
    sandbox.env['CHATCTL_API_KEY'] = 'some-key'
    path = join(sandbox.home, 'rows.csv')
    user = server.add({ email: 'ada@example.com' })
  })
  afterEach(() => {
    terminal?.kill()
  })

  const start = (text: string, ...args: string[]) => {
    writeFileSync(path, text)
    terminal = new Terminal(sandbox, args)
    return terminal
  }
  const made = () => server.report().creates.size
  const assigned = () => server.report().assignments.size

  it('shows the plan, and starts after the confirmation prompt', async () => {
    const { type, waitFor, end } = start('email\na@example.com\nb@example.com\n', 'users', 'import', path)
    await waitFor('Send ')
    expect(terminal?.shown).to.contain('2 rows, 2 requests: 2 creates')
    expect(made()).to.equal(0)
    type('y\r')
    expect(await end()).to.equal(0)
    expect(made()).to.equal(2)
  })

  it('sends nothing if the confirmation prompt is declined', async () => {
    const { type, waitFor, end } = start('email\na@example.com\n', 'users', 'import', path)
    await waitFor('Send ')
    type('n\r')
    expect(await end()).to.equal(3)
    expect(made()).to.equal(0)
  })

  it('needs a confirmation for assignments too, except with --yes', async () => {
    const args = ['users', 'permissions', 'assign', '--file', path]
    const asked = start(`id,role\n${user},editor\n`, ...args)
    await asked.waitFor('Send ')
    asked.type('n\r')
    expect(await asked.end()).to.equal(3)
    expect(assigned()).to.equal(0)
    const unasked = start(`id,role\n${user},editor\n`, ...args, '--yes')
    expect(await unasked.end()).to.equal(0)
    expect(terminal?.shown).not.to.contain('Send ')
    expect(assigned()).to.equal(1)
  })

  it('shows its progress', async () => {
    const rows = Array.from({ length: 600 }, (_, index) => `u${index}@example.com\n`).join('')
    const { end } = start(`email\n${rows}`, 'users', 'import', path, '--yes', '--concurrency', '2')
    expect(await end()).to.equal(0)
    expect(terminal?.shown).to.match(/\d+% +[\d,]+ of 600 rows done/)
  })
})

describeSample('auth login in a terminal', 2, () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startScriptedServer((...exchange) => json(200, user)(...exchange)))
  let terminal: Terminal | undefined
  let user: object
  beforeEach(() => {
    user = owner
  })
  afterEach(() => terminal?.kill())

  const start = async (...more: string[]) => {
    terminal = new Terminal(sandbox, ['auth', 'login', ...loginFlags({ server, service }), ...more])
    await terminal.waitFor('Then wait, or paste the URL')
    const [, address = ''] = /^To sign in, open this URL:\r?\n(\S+)/m.exec(terminal.shown) ?? []
    return { terminal, address }
  }

  it('accepts a pasted URL that is longer than the 4,095 bytes of a terminal line', async () => {
    const code = `c${'0123456789'.repeat(700)}`
    server.script.redirectBack = (query) => query.set('code', code)
    const { terminal, address } = await start('--no-browser')
    terminal.type(`what?\r${await agreeByHttp(address)}\r`)
    expect(await terminal.end(), terminal.shown).to.equal(0)
    expect(terminal.shown).to.contain('Still waiting: the pasted text is not a complete URL.')
    expect(server.tokenRequests[0]?.get('code')).to.equal(code)
  })

  it('can be interrupted with Ctrl-C while it waits for a pasted URL', async () => {
    const { terminal } = await start('--no-browser')
    terminal.type('http://half\u0003')
    expect(await terminal.end()).to.equal(130)
  })

  for (const [answer, exitCode, id] of [
    ['y\r', 0, 'u2'],
    ['n\r', 3, 'u1'],
  ] as const) {
    it(`asks for confirmation before it replaces the credential of another user: ${answer.trim()}`, async () => {
      await signIn(sandbox, { server, service }, [])
      user = { ...owner, id: 'u2', email: 'mallory@example.com' }
      const { terminal, address } = await start('--no-browser')
      const page = signInByHttp(address)
      await terminal.waitFor('Continue as mallory@example.com?')
      expect(terminal.shown).to.contain('Profile "work" was signed in as ada@example.com')
      terminal.type(answer)
      expect(await terminal.end(), terminal.shown).to.equal(exitCode)
      expect((await page).text).to.contain(exitCode === 0 ? 'Signed in' : 'Not signed in')
      expect(readCredential(sandbox).user?.id).to.equal(id)
    })
  }
})

describe('Ctrl-C in a loop of a shell', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startScriptedServer(silent))

  for (const shell of ['bash', 'sh']) {
    it(`ends the loop too: ${shell}`, async () => {
      const send = `'${process.execPath}' '${binary}' chat send hi --base-url ${server.url}`
      const loop = `for round in 1 2 3; do echo "round $round"; ${send}; echo "went on"; done`
      const env = { CHATCTL_API_KEY: 'some-key' }
      const before = server.requests.length
      const terminal = await Tmux.run(sandbox, [shell, '-c', loop], { env })
      try {
        await until(() => server.requests.length > before, 20_000)
        await terminal.key('C-c')
        expect(await terminal.exitCode()).to.equal(130)
        const screen = await terminal.screen()
        expect(screen).to.contain('round 1')
        expect(screen).not.to.match(/went on|round 2/)
      } finally {
        await terminal.close()
      }
    })
  }
})
