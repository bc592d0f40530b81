import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePassword } from '../../../src/cli/input/read-password.ts'
import type { Change } from '../../../src/contract/intent.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type Run, type Running, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  json,
  limited,
  reset,
  resetMidBody,
  type Script,
  serveHandler,
  silent,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { serveUsers } from '../../users/users-run.ts'

describe('a user that the ledger knows', function () {
  this.timeout(20_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ allowsDuplicates: true })))
  const chatctl = (...words: string[]) => runChatctl(sandbox, words, { service: server })
  const users = (...words: string[]) => chatctl('users', ...words)
  const create = (email: string) =>
    users('create', '--no-password', '--allow-duplicates', ...(email === '' ? [] : ['--email', email]))
  const ids = () => [...server.report().users.keys()]

  /** Another run that has sent a change, and waits for its outcome. */
  async function begin(change: Partial<Change>) {
    const service = `${server.url}/`
    const about = { command: 'users apply', service }
    const run = new LedgerRun(Ledger.of(new Directories(sandbox.env), service), about, new SteppedClock())
    const common = { method: 'POST', path: '/v1/users', endpoint: undefined, user: undefined }
    const end = await run.begin({ ...common, ...change })
    return { run, end }
  }
  const assign = (user: string) => {
    const path = `/v1/users/${user}/permissions`
    return begin({ path, endpoint: 'assignPermissions', user, body: { role: 'a' } })
  }

  const commands: [string, (user: string) => string[]][] = [
    ['get', (user) => ['get', user]],
    ['get, with other users', (user) => ['get', user, ids()[0] ?? '']],
    ['update', (user) => ['update', user, '--name', 'Ada L.']],
    ['permissions assign', (user) => ['permissions', 'assign', user, 'read:chat']],
  ]
  for (const [name, words] of commands) {
    it(`is found by email in any case: users ${name}`, async () => {
      for (const email of ['Ada@example.com', 'eve@example.com', 'eve@example.com']) await create(email)
      const found = await users(...words('ada@Example.com'), '--json')
      expect(found.exitCode, found.stderr).to.equal(0)
      expect(found.stdout).to.contain(`"id": "${ids()[0]}"`)
      const several = await users(...words('eve@example.com'))
      expect(several.stderr).to.contain(`with the IDs "${ids()[2]}" and "${ids()[1]}"`)
      const none = await users(...words('zoe@example.com'))
      expect(none.stderr).to.contain(
        'This machine knows no user with the email zoe@example.com, so the ID is needed',
      )
      for (const run of [several, none]) expect(run.exitCode).to.equal(name.includes('other') ? 9 : 2)
    })
  }

  for (const [name, words] of commands.slice(2))
    it(`is read before it is changed by email: users ${name}`, async () => {
      const email = 'ada@example.com'
      await create(email)
      const [id = ''] = ids()
      const change = async (user: string, ...flags: string[]) => {
        const { length } = server.requests
        const run = await users(...words(user), ...flags)
        return { ...run, methods: server.requests.slice(length).map(({ method }) => method) }
      }
      const { methods } = await change(id)
      expect((await change(email)).methods).to.deep.equal(['GET', ...methods])
      expect([methods.length, (await change(email, '--dry-run')).methods]).to.deep.equal([1, []])
      const user = server.report().users.get(id) ?? {}
      Object.assign(user, { email: undefined })
      const unchecked = `has no email for user ${id}, so ${email} is not checked`
      expect((await change(email)).stderr).to.contain(unchecked)
      Object.assign(user, { email: 'zoe@example.com' })
      const other = await change(email)
      expectFailure(other, 7, `The user "${id}" has the email "zoe@example.com"`, 'name the ID')
      server.faults.set(`GET /v1/users/${id}`, failing(403, 'forbidden', 'No'))
      expectFailure(await change(email), 5, `Cannot check whether the user "${id}"`, 'name the ID')
      server.faults.clear()
      server.remove(id)
      const gone = await change(email)
      expectFailure(gone, 6, `The user "${id}", whose email was ${email}, no longer exists`)
      for (const { methods } of [other, gone]) expect(methods).to.deep.equal(['GET'])
    })

  it('is found by an ID with @, and if the ID is not known, by id:ID', async () => {
    const { run, end } = await assign('ada@x')
    end({ outcome: 'done', status: 200 })
    run.close()
    await create('')
    expectFailure(await users('get', 'ada@x'), 6, '/v1/users/ada%40x')
    expectFailure(await users('get', 'bob@x'), 2, 'so the ID is needed', 'Find it on the service', 'id:bob@x')
    for (const [, words] of commands) {
      const named = await users(...words('id:bob@x'))
      expect(named.stderr.replaceAll('%40', '@'), named.stderr).to.contain('bob@x').and.not.contain('needed')
      expect(server.requests.some(({ path }) => path.startsWith('/v1/users/bob%40x'))).to.equal(true)
    }
    const local = await runChatctl(sandbox, ['users', 'get', 'bob@x', '--profile', 'local'])
    expectFailure(local, 2, 'chatctl service users show bob@x --profile local')
  })

  it('is not guessed if a word is the email of one user and the ID of another', async () => {
    await create('ada@example.com')
    const { run } = await assign('ada@example.com')
    run.close()
    const words = `"ada@example.com" is the email of the user "${ids()[0]}" and the ID of another user`
    for (const [, command] of commands) {
      const { exitCode, stderr } = await users(...command('ada@example.com'))
      expect(stderr).to.contain(words)
      expect(exitCode).to.be.oneOf([2, 9])
    }
    expectFailure(await users('get', 'ada@example.com'), 2, 'id:ada@example.com')
  })

  it('is found in a state file first, and then in the ledger', async () => {
    await create('ada@example.com')
    await create('bob@example.com')
    const [ada, bob] = ids()
    writeFileSync(join(sandbox.home, 'users.csv'), 'email\neve@example.com\n')
    expect((await users('apply', 'users.csv', '--yes', '--no-password')).exitCode).to.equal(0)
    const words = ['eve@example.com', 'bob@example.com', ada ?? '']
    const found = await users('get', ...words, '--state', 'users.state.json', '--fields', 'id')
    expect(found.stdout, found.stderr).to.equal(`${ids()[2]}\n${bob}\n${ada}\n`)
    const adopted = await users('adopt', 'bob@example.com', '--fields', 'email,id,status')
    expect(adopted.stdout, adopted.stderr).to.equal(`bob@example.com\t${bob}\tadopted\n`)
  })

  it('has a warning if the outcome of its last change is unknown, or the change is in progress', async () => {
    await create('ada@example.com')
    const [id = ''] = ids()
    const { run } = await assign(id)
    const about = `The last change of role of the user "${id}" (users apply, `
    for (const words of ['in progress', 'an unknown outcome']) {
      for (const [, command] of commands) {
        const { stderr } = await users(...command(id))
        expect(stderr, words)
          .to.contain(about)
          .and.to.match(new RegExp(`\\) (is|has) ${words}`))
      }
      const outcome = words === 'in progress' ? 'in_progress' : 'unknown'
      const filter = '.[] | select(.command == "users apply") | .outcome'
      expect((await chatctl('activity', '--jq', filter)).stdout).to.equal(`${outcome}\n`)
      const isUnknown = (await chatctl('activity', '--unknown', '--json')).stdout.includes(id)
      expect(isUnknown).to.equal(outcome === 'unknown')
      if (words === 'in progress') run.close()
    }
  })

  it('is in progress in users list, and in users create, while another run creates it', async () => {
    const { run } = await begin({ endpoint: 'createUser', body: { email: 'ada@example.com' } })
    const listed = () => users('list', '--fields', 'email,outcome')
    expect((await listed()).stdout).to.equal('ada@example.com\tin_progress\n')
    const again = await users('create', '--email', 'ada@example.com', '--no-password')
    const words = 'Another command on this machine has begun to create ada@example.com'
    expectFailure(again, 7, words, 'When it has ended', '--allow-duplicates')
    expect(server.requests).to.deep.equal([])
    run.close()
    expect((await listed()).stdout).to.equal('ada@example.com\tunknown\n')
  })

  it('is listed and erased without an email', async () => {
    await create('')
    const [id = ''] = ids()
    expect((await users('list', '--fields', 'email,id,outcome')).stdout).to.equal(`\t${id}\tdone\n`)
    const erased = await chatctl('activity', 'forget', id, '--yes', '--json')
    expect(JSON.parse(erased.stdout).map(({ path }: { path: string }) => path)).to.deep.equal(['/v1/users'])
    expect((await users('list', '--json')).stdout).to.equal('[]\n')
  })
})

describe('users get with a response without any documented field', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function get(args: readonly string[], body: unknown): Promise<Run> {
    await server.serve(json(200, body))
    return runChatctl(sandbox, ['users', 'get', ...args], { service: server })
  }

  const enveloped = { data: { id: 'u1', password: 'canary', tags: ['\u001b[31m'] } }

  it('warns, and shows what the response contains', async () => {
    const warning = 'The response has none of the documented fields, so it is shown as it is'
    const expected = { exitCode: 0, stdout: 'data.id\tu1\ndata.age\t5\n', stderr: `Warning: ${warning}\n` }
    expect(await get(['u1'], { data: { id: 'u1', age: 5 } })).to.deep.equal(expected)
    const json = await get(['u1', '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(enveloped)
    expect(JSON.parse(json.stderr)).to.deep.equal({ warning: { message: warning } })
    expect((await get(['u1', '--fields', 'id,name'], enveloped)).stdout).to.equal('')
  })

  it('quotes the first responses in one warning for several IDs, without secrets', async () => {
    const ids = ['u1', 'u2', 'u3', 'u4']
    const { stdout, stderr } = await get(ids, enveloped)
    expect(stdout).to.equal(ids.map((id) => `${id}\t\t\t\t\t\n`).join(''))
    const quoted = '{"data":{"id":"u1","password":"[redacted]","tags":["\\u001b[31m"]}}'
    expect(stderr).to.equal(
      `Warning: 4 responses have none of the documented fields, such as u1: ${quoted}\n`,
    )
    const json = await get([...ids, '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(ids.map(() => enveloped))
  })
})

describe('users get with several IDs', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function get(args: readonly string[], script: Script, stdin: string | Buffer = ''): Promise<Run> {
    await server.serve(script)
    return runChatctl(sandbox, ['users', 'get', ...args], { service: server, stdin })
  }

  /** Responds for an ID with the given behavior, or with the user of that ID. */
  const users = (others: Record<string, Behavior> = {}): Script => ({
    choose: ({ path }) => {
      const id = path.split('/').at(-1) ?? ''
      return others[id] ?? json(200, userOf(id))
    },
  })
  /** Responds with as many users, and then with this behavior. */
  const usersBefore = (count: number, behavior: Behavior): Script => ({
    choose: ({ path }, index) => (index < count ? json(200, userOf(path.split('/').at(-1) ?? '')) : behavior),
  })

  const missing = (id: string) => failing(404, 'not_found', `There is no user ${id}`)
  const idsOf = (stdout: string) => stdout.match(/^[^\t\n]+(?=\t)/gm)

  it('prints one header in CSV, and one array in JSON', async () => {
    const csv = await get(['a', 'b', '-o', 'csv', '--fields', 'id,email'], users())
    expect(csv.stdout).to.equal('id,email\na,a@example.com\nb,b@example.com\n')
    const whole = await get(['a', 'b', '--json'], users())
    expect(JSON.parse(whole.stdout)).to.deep.equal([userOf('a'), userOf('b')])
  })

  it('warns about each user that cannot be read, continues, and exits 9', async () => {
    const script = users({ b: missing('b'), d: failing(403, 'forbidden', 'Not yours') })
    const run = await get(['a', 'b', 'c', 'd', 'e'], script)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'c', 'e'])
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.equal(
      'Warning: Cannot read user b: There is no user b\n' +
        'Warning: Cannot read user d: Not yours\n' +
        'Error: 2 of 5 users could not be read\n',
    )
  })

  it('prints warnings and the error as JSON with --json', async () => {
    const run = await get(['a', 'b', '--json'], users({ b: missing('b') }))
    expect(JSON.parse(run.stdout)).to.deep.equal([userOf('a')])
    const [warning, error] = JSON.parse(`[${run.stderr.trimEnd().replace('\n', ',')}]`)
    expect(warning).to.deep.equal({ warning: { message: 'Cannot read user b: There is no user b' } })
    expect(error.error).to.deep.include({ code: 'incomplete', message: '1 of 2 users could not be read' })
  })

  it('exits with the common code if all requests fail alike, else with 9', async () => {
    const run = await get(['a', 'b', '--json'], users({ a: missing('a'), b: missing('b') }))
    expect(run).to.include({ exitCode: 6, stdout: '' })
    expect(run.stderr.trimEnd().split('\n')).to.have.length(3)
    const mixed = await get(['a', 'b'], users({ a: missing('a'), b: failing(403, 'forbidden', 'No') }))
    expectFailure(mixed, 9, '2 of 2 users could not be read')
  })

  it('prints one error if there is only one user', async () => {
    const run = await get(['-'], users({ a: missing('a') }), 'a\n')
    expectFailure(run, 6)
    expect(run.stderr).to.equal(`Error: There is no user a (404, GET ${server.url}/v1/users/a)\n`)
  })

  it('stops immediately if the credential is refused, and keeps earlier rows', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `u${index}`).join(' ')
    for (const form of ['tsv', 'json']) {
      const script = usersBefore(3, failing(401, 'unauthorized', 'No'))
      const run = await get(['-', '--concurrency', '1', '-o', form], script, ids)
      expect(run.exitCode).to.equal(4)
      expect(run.stdout.match(/u[0-2]@/g)).to.have.length(3)
      expect(server.requests).to.have.length(4)
    }
  })

  it('stops if the service cannot be reached', async () => {
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1', '--retries', '0'], reset)
    expectFailure(run, 69, 'No response from')
    expect(server.requests).to.have.length(1)
  })

  it('exits 75 if the wait is too long, and names the --max-wait to use', async () => {
    const script = usersBefore(2, limited({ 'retry-after': '3600' }))
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1'], script)
    expect(run.exitCode).to.equal(75)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'b'])
    expect(run.stderr).to.contain('--max-wait 1h')
    expect(server.requests).to.have.length(3)
  })

  it('rejects an invalid ID with its location, and sends nothing if it is an argument', async () => {
    const refused = await get(['-', '--concurrency', '1'], users(), '\n\n..\n')
    expectFailure(refused, 2, 'line 3 of stdin: the id must not be ".."')
    expectFailure(await get(['a', '', 'b'], users()), 2, 'The id must not be empty')
    expect(server.requests).to.have.length(0)
    expectFailure(await get(['-', '-'], users(), 'a'), 2, 'was given twice')
    const run = await get(['-'], users(), Buffer.from('a\n\xff', 'latin1'))
    expect(run).to.include({ exitCode: 2 })
    expect(run.stderr).to.contain('stdin is not UTF-8 text')
  })

  it('rejects a field that no user has before it prints a row', async () => {
    expectFailure(await get(['a', 'b', '--fields', 'id,nmae'], users()), 2, 'Unknown field "nmae"')
    const script = users({ b: json(200, { ...userOf('b'), x_extra: 1 }) })
    expect((await get(['a', 'b', '--fields', 'id,x_extra'], script)).stdout).to.equal('a\t\nb\t1\n')
  })
})

function userOf(id: string) {
  const created_at = '2026-01-02T03:04:05Z'
  return { id, email: `${id}@example.com`, name: id, created_at, metadata: {}, settings: {} }
}

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
        const behavior = failing(status, 'invalid_request', 'password is required')
        const hint = 'use --generate-password, --password-stdin, or --password-file.'
        const run = await create(['--no-password'], behavior)
        expectFailure(run, 1, 'Error: password is required', `If the service requires a password, ${hint}`)
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

    it('sends a password that was typed twice, and prompts again after two different ones', async () => {
      expectSuccess(await type('canary', 'canary'))
      expect(passwords()).to.deep.equal(['canary'])
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
