import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  failing,
  json,
  type Served,
  serveHandler,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('users import', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let server: Served<UsersHandler>
  let requests: string[]

  async function serve(options: UsersOptions = {}): Promise<void> {
    await server?.close()
    server = await serveHandler(new UsersHandler(options))
    server.onRequest = ({ method, path }) => requests.push(`${method} ${path}`)
  }

  beforeEach(async () => {
    requests = []
    await serve()
  })
  afterEach(() => server.close())

  function file(name: string, text: string): string {
    const path = join(sandbox.home, name)
    writeFileSync(path, text)
    return path
  }

  async function run(args: string[], options: RunOptions = {}): Promise<Run> {
    requests.length = 0
    return runChatctl(sandbox, ['users', ...args], { timeout: 50_000, service: server, ...options })
  }

  const importing = (path: string, ...flags: string[]) => run(['import', path, '--yes', ...flags])
  const changes = () => requests.filter((request) => !request.startsWith('GET'))
  const counts = (done: Run) => JSON.parse(done.stdout)
  const results = (path: string) => parse(readFileSync(path), { columns: true }) as Record<string, string>[]
  const state = () => join(sandbox.home, '.local/state/chatctl/state')

  const three =
    'email,name,password\na@example.com,A,pw-a-123\nb@example.com,B,pw-b-123\nc@example.com,C,pw-c-123\n'

  describe('for a file in each format', () => {
    const ada = {
      email: 'ada@example.com',
      password: 'a password',
      name: 'Ada',
      metadata: { company: 'Acme' },
    }
    const row = { ...ada, role: 'editor', permissions: ['read:chat', 'write:users'] }
    const forms = {
      'users.csv': `email,name,password,role,permissions,metadata.company\nada@example.com,Ada,a password,editor,read:chat;write:users,Acme\n`,
      'users.jsonl': `${JSON.stringify(row)}\n`,
      'users.json': JSON.stringify([row], null, 2),
      'users.yaml': `- ${JSON.stringify(row)}\n`,
    }
    for (const [name, text] of Object.entries(forms))
      it(`sends the rows of ${name}`, async () => {
        const done = await importing(file(name, text), '--json')
        expect(done.exitCode, done.stderr).to.equal(0)
        expect(counts(done)).to.include({ rows: 1, created: 1, failed: 0, unknown: 0, requests: 2 })
        const [user] = [...server.report().users.values()]
        expect(user).to.deep.include(ada)
        const shown = server.report().assignments.get(user?.id ?? '')
        expect(shown).to.deep.equal([{ permissions: ['read:chat', 'write:users'], role: 'editor' }])
      })

    it('recognizes the format of stdin, unless --format names another', async () => {
      const stdin = { stdin: forms['users.jsonl'] }
      expectFailure(await run(['import', '-', '--yes', '--format', 'csv'], stdin), 2, 'unexpected quote')
      expect(counts(await run(['import', '-', '--yes', '--json'], stdin))).to.include({ created: 1 })
    })

    it('sends only the non-empty columns of a row with an ID', async () => {
      const id = server.add({ email: 'old@example.com', name: 'Old', metadata: { seats: '1' } })
      const path = file('users.csv', `id,name,settings.theme,role,metadata.seats\n${id},,dark,,2\n`)
      expect(counts(await importing(path, '--json'))).to.include({ created: 0, updated: 1 })
      const shown = server.report().updates.get(id)
      expect(shown).to.deep.equal([{ metadata: { seats: '2' }, settings: { theme: 'dark' } }])
      expect(changes()).to.deep.equal([`PATCH /v1/users/${id}`])
    })

    it('creates, updates settings, and assigns, in this order', async () => {
      const path = file(
        'users.jsonl',
        '{"email":"a@example.com","settings":{"theme":"dark","notifications_enabled":false},"role":"admin"}\n',
      )
      expect((await importing(path)).exitCode).to.equal(0)
      const [id] = [...server.report().users.keys()]
      expect(changes()).to.deep.equal([
        'POST /v1/users',
        `PATCH /v1/users/${id}`,
        `POST /v1/users/${id}/permissions`,
      ])
    })
  })

  describe('with invalid rows', () => {
    const faulty = [
      ...'email,name,password,permissions a@example.com,A,secret-of-a,read:chat nobody,B,secret-of-b, c@example.com,C,secret-of-c,read A@example.com,D,secret-of-d,'.split(
        ' ',
      ),
      '',
    ].join('\n')

    it('names every fault with its line and column, and sends nothing', async () => {
      const path = file('users.csv', faulty)
      const done = await importing(path)
      expectFailure(done, 2, 'Nothing was sent, because the input has 3 errors')
      const places = [...done.stderr.matchAll(/users\.csv:(\d+:\d+): (.*)/g)].map(
        ([, at, words]) => `${at} ${words}`,
      )
      expect(places[0]).to.match(/^3:1 "nobody" is not a valid email address/)
      expect(places[1]).to.match(/^4:29 permission "read" must have the form/)
      expect(places[2]).to.match(/^5:1 .*line 2/)
      expect(places).to.have.length(3)
      expect(requests).to.deep.equal([])
      expect(done.stderr).not.to.contain('secret-of')
    })

    it('imports the other rows with --skip-invalid', async () => {
      const path = file('users.csv', faulty)
      const to = join(sandbox.home, 'results.csv')
      const done = await importing(path, '--skip-invalid', '--json', '--results', to)
      expect(done.exitCode, done.stderr).to.equal(9)
      expect(done.stderr).to.contain('3 invalid rows were skipped')
      const failed = join(sandbox.home, 'users.failed.csv')
      expect(counts(done)).to.include({ rows: 4, created: 1, skipped: 3, remaining: 0, failed_rows: failed })
      expect(readFileSync(failed, 'utf8')).to.equal(
        `id,${faulty.split('\n')[0]}\n${faulty
          .trim()
          .split('\n')
          .slice(2)
          .map((line) => `,${line}\n`)
          .join('')}`,
      )
      const shown = results(to).map(({ status }) => status)
      expect(shown).to.deep.equal('created skipped skipped skipped'.split(' '))
    })
  })

  it('refuses to use the embedded service unless it is named', async () => {
    const done = await run(['import', file('users.csv', three), '--yes'], {
      env: { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' },
    })
    expectFailure(done, 2, 'No service is selected')
    expect(existsSync(state())).to.equal(false)
  })

  describe('before it starts', () => {
    it('shows how many requests it will send, and that no quota is known', async () =>
      expect((await importing(file('users.csv', three))).stderr).to.match(
        /users\.csv: 3 rows, 3 requests: 3 creates\.\nQuota: unknown .*about 1s, 8 at a time/,
      ))

    it('shows the quota in the response headers', async () => {
      await serve({ quota: { requests: 40, window: 60_000, headers: 'RateLimit' } })
      const { stderr } = await importing(file('users.csv', three))
      expect(stderr).to.match(/Quota: 40 requests(?: per .*)?, 39 left.*The import takes about 1s/)
    })

    it('shows how long it will take, and where it will stop', async () => {
      const many = Array.from({ length: 250 }, (_, index) => `u${index}@example.com\n`).join('')
      const done = await run(['import', file('users.csv', `email\n${many}`), '--quota', 'free'])
      expect(done.stderr).to.match(
        /250 requests: 250 creates\.\nQuota: 100 requests per 1h, 100 left\. The import takes about 2h 1m/,
      )
      expect(done.stderr).to.contain('To let it wait, use --max-wait 1h')
    })
  })

  describe('when it runs again', () => {
    it('counts earlier rows separately, and says that they were not checked', async () => {
      const path = file('users.csv', three)
      await importing(path)
      const again = await importing(path, '--json')
      expect(again.exitCode).to.equal(0)
      expect(requests).to.deep.equal(['GET /api/user/profile'])
      expect(counts(again)).to.include({ created: 0, already_done: 3, requests: 0 })
      expect(again.stderr).to.contain('did not check that the users still exist')
    })

    it('prints no counts if the service is unreachable or refuses the key', async () => {
      const path = file('users.csv', three)
      await importing(path)
      const { url } = server
      await server.close()
      const down = await run(['import', path, '--yes', '--json'], { env: { CHATCTL_BASE_URL: url } })
      expect([down.exitCode, down.stdout]).to.deep.equal([69, ''])
      const bounded = await importing(path, '--quota', 'pro', '--json')
      expect([bounded.exitCode, bounded.stdout]).to.deep.equal([69, ''])
      for (const [behavior, code] of [
        [failing(401, 'invalid_api_key', 'Invalid API key'), 4],
        [failing(503, 'down', 'The service is down'), 69],
        [failing(403, 'forbidden', 'No'), 0],
      ] as const) {
        await server.serve(behavior)
        expect((await importing(path, '--retries', '0')).exitCode).to.equal(code)
        expect(server.requests.map(({ method }) => method)).to.deep.equal(['GET'])
      }
    })

    it('fails if the service refuses the key, also with --on-unknown and no row to resolve', async () => {
      const path = file('users.csv', three)
      await importing(path)
      await server.serve(failing(401, 'invalid_api_key', 'Invalid API key'))
      expectFailure(await importing(path, '--on-unknown', 'retry'), 4, 'Invalid API key')
    })

    it('sends failed rows and the steps after them again', async () => {
      const bad = new Set(['b@example.com'])
      await serve({ rejects: (email) => bad.has(email) })
      const path = file(
        'users.csv',
        three.replace(/$/gm, '').replace('password\n', 'password,role\n').replace(/123\n/g, '123,admin\n'),
      )
      const to = join(sandbox.home, 'results.jsonl')
      const first = await importing(path, '--results', to, '--json')
      expect(first.exitCode).to.equal(9)
      expect(counts(first)).to.include({ created: 2, failed: 1 })
      expect(JSON.parse(first.stderr.trim().split('\n').at(-1) ?? '').error.code).to.equal('incomplete')
      bad.clear()
      expect(await importing(path, '--results', to)).to.include({ exitCode: 0 })
      expect(changes()).to.have.length(2)
      const lines = readFileSync(to, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines.map(({ line, status }) => [line, status])).to.deep.equal([
        [2, 'created'],
        [3, 'created'],
        [4, 'created'],
      ])
      expect(lines.every(({ id }) => server.report().users.has(id))).to.equal(true)
    })

    it('says that it does not send the new name of a user, except with --restart', async () => {
      const path = file('users.csv', three)
      await importing(path)
      file('users.csv', three.replace(',B,', ',Bea,'))
      const edited = await importing(path)
      expect(edited.exitCode, edited.stderr).to.equal(0)
      expect(edited.stderr).to.match(
        /1 row is not what was last sent.*line 3, b@example.com.*\n?.*chatctl users update \S+ --help/,
      )
      expect(changes()).to.deep.equal([])
      await server.serve(new UsersHandler({ allowsDuplicates: true }))
      expect(counts(await importing(path, '--restart', '--json'))).to.include({ created: 3 })
      expect(counts(await importing(path, '--json'))).to.include({ created: 0, already_done: 3 })
    })
  })

  it('refuses a second run of the same file while the first one runs', async () => {
    await serve({ delay: 1500 })
    const path = file('users.csv', three)
    const first = importing(path)
    while (changes().length === 0) await sleep(20)
    const second = await runChatctl(sandbox, ['users', 'import', path, '--yes'], { service: server })
    expectFailure(second, 7, 'Another chatctl process is importing')
    expect((await first).exitCode).to.equal(0)
    expect(server.report().users.size).to.equal(3)
  })

  it('writes the failed rows to a file that can be imported', async () => {
    await serve({ rejects: (email) => email === 'b@example.com' })
    const path = file('users.csv', three)
    const done = await importing(path, '--json')
    const failed = join(sandbox.home, 'users.failed.csv')
    expect(counts(done).failed_rows).to.equal(failed)
    expect(done.stderr).to.contain('Line 3 (b@example.com) failed: 422: No mail reaches b@example.com')
    expect(readFileSync(failed, 'utf8')).to.equal('id,email,name,password\n,b@example.com,B,pw-b-123\n')
    expect(statSync(failed).mode & 0o777).to.equal(0o600)
    writeFileSync(failed, 'email,name,password\nb2@example.com,B,pw-b-123\n')
    // A file that someone has begun to fix is not overwritten.
    const shown = counts(await importing(path, '--json')).failed_rows
    expect(shown).to.equal(join(sandbox.home, 'users.failed-2.csv'))
    expect((await importing(failed)).exitCode).to.equal(0)
    expect([...server.report().users.values()].map(({ email }) => email)).to.contain('b2@example.com')
  })

  it('never creates a user again whose ID the service did not return', async () => {
    await serve({ idIn: ['nowhere'] })
    const path = file('users.csv', 'email,role\na@example.com,admin\nb@example.com,\n')
    expect(counts(await importing(path, '--json', '--without-ids'))).to.include({ created: 1, unknown: 1 })
    const retried = await importing(path, '--on-unknown', 'retry', '--json')
    expect(changes()).to.deep.equal([])
    expect(counts(retried)).to.include({ unknown: 1 })
    const [id = ''] = server.report().creates.get('a@example.com')?.ids ?? []
    const settled = await importing(path, '--on-unknown', 'created', '--id', id, '--json')
    expect(settled.exitCode, settled.stderr).to.equal(0)
    expect(counts(settled)).to.include({ created: 1, already_done: 1, unknown: 0 })
    expect(server.report().assignments.get(id)).to.deep.equal([{ role: 'admin' }])
  })

  describe('with a rate limit', () => {
    it('waits, and sends all rows', async () => {
      await serve({ quota: { requests: 2, window: 1000, headers: 'Retry-After' } })
      const done = await importing(file('users.csv', three), '--json')
      expect(done.exitCode, done.stderr).to.equal(0)
      expect(counts(done)).to.include({ created: 3 })
    })

    it('exits 75 if the wait is too long, and can be resumed', async () => {
      await serve({ quota: { requests: 2, window: 60_000, headers: 'Retry-After' } })
      const path = file('users.csv', three)
      const first = await importing(path, '--max-wait', '1s', '--json')
      expect(first.exitCode).to.equal(75)
      const { created, remaining } = counts(first)
      expect(created + remaining).to.equal(3)
      expect(remaining).to.be.above(0)
      expect(JSON.parse(first.stderr.trim().split('\n').at(-1) ?? '').error.hint).to.contain('--max-wait')
      server.liftQuota()
      expect((await importing(path)).exitCode).to.equal(0)
      expect(server.report().users.size).to.equal(3)
    })

    it('reports a user as skipped while the last step of the row is not sent', async () => {
      const id = server.add({ email: 'old@example.com' })
      const path = file('users.csv', `id,name,role\n${id},Old,admin\n`)
      const to = join(sandbox.home, 'results.csv')
      expect((await importing(path, '--quota', '1/h', '--results', to)).exitCode).to.equal(75)
      expect(results(to)[0]).to.include({ status: 'skipped', error: 'the rest of the row is not sent yet' })
    })

    it('ends the window of --quota when the service does', async () => {
      const half = { 'ratelimit-policy': '"hour";q=2;w=3600', ratelimit: '"hour";r=1;t=1800' }
      await using hourly = await startScriptedServer(json(201, { id: 'u' }, half))
      const path = file('users.csv', three)
      const flags = ['--yes', '--quota', '2/h', '--concurrency', '1', '--max-wait', '0s']
      const done = await run(['import', path, ...flags], { env: { CHATCTL_BASE_URL: hourly.url } })
      expect(done.exitCode, done.stderr).to.equal(75)
      expect(done.stderr).to.match(/Try again in (30|29) min/)
      expect(hourly.requests.length).to.equal(2)
    })

    it('sends no more requests than --quota allows', async () => {
      const path = file('users.csv', three)
      expect((await importing(path, '--quota', '2/h', '--json')).exitCode).to.equal(75)
      expect(changes()).to.have.length(2)
      // Requests of an earlier run count too.
      expect((await importing(path, '--quota', '2/h', '--json')).exitCode).to.equal(75)
      expect(changes()).to.have.length(0)
    })
  })

  it('stops if the service refuses the key, and counts no row as failed', async () => {
    await using refusing = await startScriptedServer(failing(401, 'invalid_api_key', 'Invalid API key'))
    const path = file('users.csv', three)
    const done = await run(['import', path, '--yes', '--quota', 'pro', '--json'], {
      env: { CHATCTL_BASE_URL: refusing.url },
    })
    expect(done.exitCode).to.equal(4)
    expect(counts(done)).to.include({ failed: 0, unknown: 0, remaining: 3 })
    const asked = await run(['import', path, '--yes'], { env: { CHATCTL_BASE_URL: refusing.url } })
    expectFailure(asked, 4, 'Invalid API key')
  })

  describe('with passwords', () => {
    it('writes none of them to output or files, even if the service quotes one', async () => {
      await using quoting = await startScriptedServer((request, response, incoming) => {
        const said = JSON.parse(request.body || '{}')
        const behavior =
          request.method === 'GET' ? json(200, {}) : failing(422, 'weak', `"${said.password}" is weak`)
        return behavior(request, response, incoming)
      })
      const path = file('users.csv', 'email,password\na@example.com,pw123\nb@example.com,a-long-password\n')
      const to = join(sandbox.home, 'results.csv')
      const done = await run(['import', path, '--yes', '--results', to, '--debug'], {
        env: { CHATCTL_BASE_URL: quoting.url },
      })
      const written = globSync('**/*', { cwd: state() })
        .map((name) => join(state(), name))
        .filter((name) => statSync(name).isFile())
      expect(written).not.to.deep.equal([])
      for (const text of [
        done.stdout,
        done.stderr,
        ...[to, ...written].map((name) => readFileSync(name, 'utf8')),
      ])
        expect(text).not.to.match(/pw123|a-long-password/)
    })

    it('generates missing ones, and writes them to the results file only', async () => {
      await serve({ rejects: (email) => email === 'b@example.com' })
      const path = file(
        'users.csv',
        'email,password\na@example.com,\nb@example.com,\nc@example.com,own-password\n',
      )
      expectFailure(await importing(path, '--generate-passwords'), 2, '--results')
      const to = join(sandbox.home, 'results.csv')
      const done = await importing(path, '--generate-passwords', '--results', to)
      expect(done.exitCode).to.equal(9)
      expect(statSync(to).mode & 0o777).to.equal(0o600)
      const [a, b, c] = results(to)
      expect(b?.['password']).to.equal('')
      const sent = [...server.report().users.values()]
      expect(sent.find(({ email }) => email === 'a@example.com')?.password)
        .to.equal(a?.['password'])
        .and.match(/.{20}/)
      expect(c?.['password']).to.equal('')
      expect(`${done.stdout}${done.stderr}`).not.to.contain(a?.['password'])
      for (const flags of [['--generate-passwords'], []]) {
        expect((await importing(path, ...flags, '--results', to)).exitCode).to.equal(9)
        expect(results(to)).to.deep.equal([a, b, c])
      }
    })

    it('keeps those of another import', async () => {
      const to = join(sandbox.home, 'results.csv')
      await importing(file('one.csv', 'email\na@example.com\n'), '--generate-passwords', '--results', to)
      const before = readFileSync(to, 'utf8')
      for (const flags of [[], ['--generate-passwords']]) {
        const done = await importing(file('two.csv', 'email\nb@example.com\n'), ...flags, '--results', to)
        expectFailure(done, 2, 'contains generated passwords of users that are not in the input')
      }
      expect(readFileSync(to, 'utf8')).to.equal(before)
      expect(server.report().users.size).to.equal(1)
    })
  })

  it('refuses to write the results to the file of rows', async () => {
    const path = file('users.csv', three)
    expectFailure(await importing(path, '--results', path), 2, 'it is the input file')
    expect(readFileSync(path, 'utf8')).to.equal(three)
  })

  describe('with permissions assign --file', () => {
    it('assigns what each row contains', async () => {
      const one = server.add({ email: 'one@example.com' })
      const two = server.add({ email: 'two@example.com' })
      const path = file('roles.csv', `id,role,permissions\n${one},admin,\n${two},,read:chat;write:chat\n`)
      expectFailure(await run(['permissions', 'assign', '--file', path]), 3, '--yes')
      expect(changes()).to.deep.equal([])
      const done = await run(['permissions', 'assign', '--file', path, '--json', '--yes'])
      expect(done.exitCode, done.stderr).to.equal(0)
      expect(counts(done)).to.include({ updated: 2, requests: 2 })
      const { assignments } = server.report()
      expect(assignments.get(one)).to.deep.equal([{ role: 'admin' }])
      expect(assignments.get(two)).to.deep.equal([{ permissions: ['read:chat', 'write:chat'] }])
    })

    it('refuses rows that are not assignments', async () => {
      const path = file('roles.csv', 'id,name\nu1,Ada\n')
      expectFailure(await run(['permissions', 'assign', '--file', path]), 2, 'name')
      const refused = await run(['permissions', 'assign', 'u1', '--file', path])
      expectFailure(refused, 2, '--file cannot be combined with')
      expectFailure(await run(['permissions', 'assign', 'u1', '--role', 'x', '--restart']), 2, '--file')
    })
  })
})
