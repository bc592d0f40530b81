import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePassword } from '../../../src/cli/input/read-password.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type Run, type Running, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  json,
  reset,
  resetMidBody,
  silent,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'
import { serveUsers } from '../../users/users-run.ts'

describe('users create', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)
  const created = json(201, { id: 'u1' })
  const words = ['users', 'create', '--email', 'ada@example.com', '--allow-duplicates']

  async function create(flags: readonly string[], behavior: Behavior = created, stdin = ''): Promise<Run> {
    await server.serve(behavior)
    return runChatctl(sandbox, [...words, ...flags], { service: server, stdin })
  }

  const bodies = () => server.requests.map(({ body }) => JSON.parse(body))

  describe('--password-stdin', () => {
    it('sends the first line as the password', async () => {
      for (const line of ['secret', 'secret\n', 'secret\r\n', 'secret\n\r\n\n']) {
        expectSuccess(await create(['--password-stdin'], created, line))
        expect(bodies()).to.deep.equal([{ email: 'ada@example.com', password: 'secret' }])
      }
    })

    it('refuses a second line that is not empty, and does not show it', async () => {
      for (const lines of ['secret\nother\n', 'secret\n\nother', 'secret\r\nother']) {
        const run = await create(['--password-stdin'], created, lines)
        expectFailure(run, 2, 'stdin has more than one line, and a password is one line')
        expect(run.stderr).not.to.match(/secret|other/)
        expect(server.requests).to.deep.equal([])
      }
    })
  })

  describe('--no-password', () => {
    it('sends no password', async () => {
      expectSuccess(await create(['--no-password', '--name', 'Ada']))
      expect(bodies()).to.deep.equal([{ email: 'ada@example.com', name: 'Ada' }])
    })

    for (const status of [400, 422])
      it(`names the password flags if the service rejects the user with ${status}`, async () => {
        const hint =
          'If the service requires a password, use --generate-password, --password-stdin, or --password-file.'
        const run = await create(
          ['--no-password'],
          failing(status, 'invalid_request', 'password is required'),
        )
        expectFailure(run, 1, 'Error: password is required', hint)
      })

    it('gives no advice on a conflict if no email was sent', async () => {
      await server.serve(failing(409, 'conflict', 'No'))
      const run = await runChatctl(sandbox, ['users', 'create', '--no-password'], { service: server })
      expectFailure(run, 7, 'Error: No')
      expect(run.stderr).not.to.contain('Hint:')
    })

    for (const other of [['--generate-password'], ['--password-stdin'], ['--password-file', 'p.txt']])
      it(`cannot be combined with ${other[0]}`, async () => {
        expectFailure(await create(['--no-password', ...other]), 2, 'cannot be used together')
        expect(server.requests).to.deep.equal([])
      })
  })

  describe('with a prompt for the password', () => {
    /** Types each text when its prompt is shown. */
    async function type(...texts: readonly string[]): Promise<Run> {
      await server.serve(created)
      const running = startChatctl(sandbox, words, { service: server, terminal: { columns: 80 } })
      let read = 0
      for (const [index, text] of texts.entries()) {
        const prompt = index % 2 === 0 ? '? Password:' : '? Password again:'
        await until(() => running.written().stdout.indexOf(prompt, read) !== -1)
        read = running.written().stdout.length
        running.stdin.write(`${text}\r`)
      }
      const run = await running.ended
      expect(run.stdout).not.to.include('canary')
      return run
    }

    const passwords = () => bodies().map(({ password }) => password)

    it('sends a password that was typed twice', async () => {
      expectSuccess(await type('canary', 'canary'))
      expect(passwords()).to.deep.equal(['canary'])
    })

    it('prompts again after two different passwords', async () => {
      const run = expectSuccess(await type('canary', 'canary-1', 'canary-2', 'canary-2'))
      expect(run.stdout).to.include('The two passwords do not match. Type the password again.')
      expect(passwords()).to.deep.equal(['canary-2'])
    })

    it('exits 2 after three pairs of different passwords', async () => {
      const run = await type('canary', 'a', 'canary', 'b', 'canary', 'c')
      expect(run.exitCode).to.equal(2)
      expect(run.stdout).to.include('The two passwords do not match')
      expect(passwords()).to.deep.equal([])
    })

    it('refuses an empty password, and names the flag for a user without one', async () => {
      const run = await type('')
      expect(run.exitCode).to.equal(2)
      expect(run.stdout).to.include('The password is empty').and.include('--no-password')
    })
  })

  describe('in the embedded service', () => {
    const createLocally = (...flags: string[]) =>
      runChatctl(sandbox, ['users', 'create', '-p', 'local', ...flags])

    it('names the user who has the email, and the command that changes that user', async () => {
      const taken = ['--email', 'ada@example.com', '--generate-password']
      const id = (await createLocally(...taken, '--jq', '.id')).stdout.trim()
      expectFailure(await createLocally(...taken), 7, `run: chatctl users get ${id} --profile local`)
      const values = ['--name', 'Ada L', '--metadata', 'a=b', '--metadata', 'n:=5']
      const change = `users update ${id} --name "Ada L" --metadata a=b --metadata n:=5 --profile local`
      expectFailure(await createLocally(...taken, ...values), 7, `run: chatctl ${change}`)
    })

    it('requires a choice of a password, and suggests an email', async () => {
      const hints = ['Password is required', '--generate-password, or --no-password', '--email ADDRESS']
      expectFailure(await createLocally('--name', 'x', '--dry-run'), 3, ...hints)
      const { stderr } = await createLocally('--email', 'bob@example.com')
      expect(stderr).to.contain('Password is required').and.not.to.contain('--email')
    })
  })
})

describe('users create for an email that was created from this machine before', () => {
  const home = serveUsers({ allowsDuplicates: true })
  const { server, serve } = home
  const create = (...flags: string[]) =>
    home.users('create', '--email', 'Ada@x.org', '--no-password', ...flags)
  const ids = () => server.report().creates.get('Ada@x.org')?.ids ?? []

  it('exits 7 with the hint of a 409 if the user exists, and names several IDs', async () => {
    expectSuccess(await create())
    const [first] = ids()
    const words = [`and exists with the ID "${first}"`, `chatctl users get ${first}`]
    for (const flags of [[], ['--dry-run']])
      expectFailure(await create(...flags), 7, ...words, '--allow-duplicates')
    expectFailure(await create('--name', 'Ada'), 7, `chatctl users update ${first} --name Ada`)
    expect(ids()).to.have.length(1)
    expectSuccess(await create('--allow-duplicates'))
    const [, second = ''] = ids()
    expectFailure(await create(), 7, `the IDs "${second}" and "${first}"`, 'chatctl users get ID')
    server.remove(second)
    expectFailure(await create(), 7, ...words)
  })

  it('creates the user if the service has no such user any more, or the user has another email', async () => {
    await create()
    server.remove(ids()[0] ?? '')
    const again = expectSuccess(await create())
    expect(again.stderr).to.contain('with this email before, and no longer exists.')
    const [, second = ''] = ids()
    Object.assign(server.report().users.get(second) ?? {}, { email: 'other@x.org' })
    const { stderr } = await create()
    expect(stderr).to.contain(`The user "${second}"`).and.contain('has another email now.')
    expect(ids()).to.have.length(3)
  })

  it('exits 7 if the ID of the user is not known', async () => {
    await serve({ idIn: ['nowhere'] })
    await create()
    expectFailure(await create(), 7, 'its ID is not known', 'chatctl users get ID', '--allow-duplicates')
  })

  it('sends nothing if the user cannot be read', async () => {
    const words = 'Cannot check whether the user "u1" still exists with this email: '
    await server.serve(json(201, { id: 'u1' }))
    await create()
    for (const [behavior, exitCode] of [
      [failing(403, 'forbidden', 'No'), 5],
      [json(200, []), 1],
    ] as const) {
      await server.serve(behavior)
      expectFailure(await create(), exitCode, words, '--allow-duplicates')
      expect(server.requests.map(({ method }) => method)).to.deep.equal(['GET'])
    }
  })

  it('names the command that checks after a lost response, and warns before a second attempt', async () => {
    server.fates = { lost: 1 }
    expectFailure(await create(), 69, 'chatctl users list', 'before you create the user again')
    server.endFates()
    const again = expectSuccess(await create())
    expect(again.stderr).to.contain('An earlier request may have created Ada@x.org')
  })
})

describe('users create --generate-password', () => {
  const sandbox = perTest(createSandbox)
  const directory = () => join(sandbox.home, '.local', 'state', 'chatctl', 'state', 'passwords')
  const kept = () =>
    existsSync(directory()) ? readdirSync(directory()).map((name) => join(directory(), name)) : []
  const created = json(201, { id: 'u1' })

  /** @param meanwhile is called when the request arrives, before the response is sent */
  async function create(
    behavior: Behavior,
    flags: readonly string[] = [],
    meanwhile: (running: Running) => void = () => {},
  ) {
    let running: Running | undefined
    await using server = await startScriptedServer((...exchange) => {
      if (running) meanwhile(running)
      return behavior(...exchange)
    })
    const words = ['users', 'create', '--email', 'ada@example.com', '--generate-password', ...flags]
    running = startChatctl(sandbox, words, { service: server })
    running.stdin.end()
    const run = await running.ended
    const [sent] = server.requests
    return { ...run, password: sent && JSON.parse(sent.body).password, url: server.url }
  }

  /** Expects one private file with the password that was sent, and its path on stderr. */
  function expectKept({ password, stderr, url }: Awaited<ReturnType<typeof create>>): void {
    const [path = '', ...others] = kept()
    expect(others).to.deep.equal([])
    const stored = { service: `${url}/`, email: 'ada@example.com', password }
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.include(stored)
    if (process.platform !== 'win32') {
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    }
    expect(stderr).to.contain(`The generated password is in ${path}`).and.not.to.contain(password)
  }

  for (const [what, behavior] of [
    ['is lost to a connection reset', reset],
    ['is interrupted', resetMidBody()],
    ['is 502', failing(502, 'bad_gateway', 'Bad gateway')],
    ['does not arrive in time', silent],
  ] as const)
    it(`keeps the password in a file and names the file if the response ${what}`, async () => {
      const run = await create(behavior, ['--timeout', '500ms'])
      expect(run).to.include({ exitCode: 69, stdout: '' })
      expectKept(run)
    })

  it('keeps the password in a file and names the file if a signal ends the run after the request', async () => {
    const run = await create(silent, ['--json'], (running) => running.interrupt('SIGINT'))
    expect(run.exitCode).to.equal(130)
    expectKept(run)
    const { error } = JSON.parse(run.stderr)
    expect(error.message).to.contain('The outcome of the change is unknown')
    expect(error.hint).to.contain('The user may exist').and.to.contain('The generated password is in')
  })

  it('creates the file before it sends the request, prints the password of a created user, and leaves no file', async () => {
    const found: string[] = []
    const run = await create(created, ['--json'], () => {
      found.push(...kept().map((path) => JSON.parse(readFileSync(path, 'utf8')).password))
    })
    expect(found).to.deep.equal([run.password])
    expectSuccess(run)
    expect(JSON.parse(run.stdout)).to.deep.equal({ id: 'u1', generated_password: run.password })
    expect(kept()).to.deep.equal([])
  })

  it('uses a temporary directory if the state directory cannot be written', async () => {
    const temporary = join(sandbox.home, 'tmp')
    mkdirSync(temporary)
    sandbox.env = { ...sandbox.env, XDG_STATE_HOME: '/dev/null', TMPDIR: temporary }
    expectSuccess(await create(created))
    expect(readdirSync(temporary)).to.deep.equal([])
    const lost = await create(reset)
    const [name = ''] = readdirSync(temporary)
    expect(lost.stderr).to.contain(`The generated password is in ${join(temporary, name)}`)
  })

  it('sends nothing if the password cannot be written to a file', async () => {
    sandbox.env = { ...sandbox.env, XDG_STATE_HOME: '/dev/null', TMPDIR: '/dev/null' }
    const run = await create(created)
    expect(run).to.include({ exitCode: 1, password: undefined })
    expect(run.stderr).to.contain('Cannot write the generated password to a file')
  })

  it('does not begin a password with a character that a spreadsheet takes for a formula', () => {
    for (let n = 0; n < 2_000; n++) expect(generatePassword()).to.match(/^[^=+@\t\r-]/)
  })

  it('leaves no file if no user was created', async () => {
    for (const status of [400, 401, 409]) {
      const run = await create(failing(status, 'refused', 'No'))
      expect(run.exitCode).to.be.above(0)
      expect(run.stderr).not.to.contain('generated password')
      expect(kept()).to.deep.equal([])
    }
    expectSuccess(await create(json(200, {}), ['--dry-run']))
    expect(kept()).to.deep.equal([])
  })
})
