import { existsSync, globSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import { GeneratedPasswords } from '../../../src/users/results/generated-passwords.ts'
import { type RowStatus, readResults, writeResults } from '../../../src/users/results/results-file.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { failing, json, startScriptedServer } from '../../support/scripted-server.ts'
import { printedBy as counts, serveUsers } from '../users-run.ts'

const error = ({ stderr }: Run) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error

describe('users import', function () {
  this.timeout(60_000)
  const home = serveUsers()
  const { server, serve, write, rows, changes } = home

  const run = (words: readonly string[], options: Parameters<typeof home.chatctl>[1] = {}) => {
    server.requests.length = 0
    return home.chatctl(['users', ...words], options)
  }
  const importing = (path: string, ...flags: string[]) => run(['import', path, '--yes', ...flags])
  const withRows = (text: string, ...flags: string[]) => importing(write('users.csv', text), ...flags)
  const results = ['--results', 'results.csv']
  const state = () => home.path('.local/state/chatctl/state')
  const created = () => [...server.report().users.values()]

  const three =
    'email,name,password\na@example.com,A,pw-a-123\nb@example.com,B,pw-b-123\nc@example.com,C,pw-c-123\n'

  describe('for a file in each format', () => {
    const ada = {
      ...{ email: 'ada@example.com', password: 'a password', name: 'Ada' },
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
        const done = expectSuccess(await importing(write(name, text), '--json'))
        expect(counts(done)).to.include({ rows: 1, created: 1, failed: 0, unknown: 0, requests: 2 })
        const [user] = created()
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
      const done = await withRows(`id,name,settings.theme,role,metadata.seats\n${id},,dark,,2\n`, '--json')
      expect(counts(done)).to.include({ created: 0, updated: 1 })
      const shown = server.report().updates.get(id)
      expect(shown).to.deep.equal([{ metadata: { seats: '2' }, settings: { theme: 'dark' } }])
      expect(changes()).to.deep.equal([`PATCH /v1/users/${id}`])
    })

    it('creates, updates settings, and assigns, in this order', async () => {
      const settings = { theme: 'dark', notifications_enabled: false }
      const one = JSON.stringify({ email: 'a@example.com', settings, role: 'admin' })
      expectSuccess(await importing(write('users.jsonl', `${one}\n`)))
      const path = `/v1/users/${created()[0]?.id}`
      expect(changes()).to.deep.equal(['POST /v1/users', `PATCH ${path}`, `POST ${path}/permissions`])
    })
  })

  describe('with invalid rows', () => {
    const faulty = [
      'email,name,password,permissions',
      'a@example.com,A,secret-of-a,read:chat',
      'nobody,B,secret-of-b,',
      'c@example.com,C,secret-of-c,read',
      'A@example.com,D,secret-of-d,',
    ]
    const text = `${faulty.join('\n')}\n`

    it('names every fault with its line and column, and sends nothing', async () => {
      const done = await withRows(text)
      expectFailure(done, 2, 'Nothing was sent, because the input has 3 errors')
      const places = [...done.stderr.matchAll(/(?<=users\.csv:)\d+:\d+: \S+/g)].map(([words]) => words)
      expect(places).to.deep.equal(['3:1: "nobody"', '4:29: permission', '5:1: email'])
      expect(server.requests).to.deep.equal([])
      expect(done.stderr).not.to.contain('secret-of')
    })

    it('imports the other rows with --skip-invalid', async () => {
      const done = await withRows(text, '--skip-invalid', '--json', ...results)
      expect(done.exitCode, done.stderr).to.equal(9)
      expect(done.stderr).to.contain('3 invalid rows were skipped')
      const failed = home.path('users.failed.csv')
      expect(counts(done)).to.include({ rows: 4, created: 1, skipped: 3, remaining: 0, failed_rows: failed })
      const skipped = faulty.slice(2).map((line) => `,${line}\n`)
      expect(home.read('users.failed.csv')).to.equal(`id,${faulty[0]}\n${skipped.join('')}`)
      const shown = rows().map(({ status }) => status)
      expect(shown).to.deep.equal(['created', 'skipped', 'skipped', 'skipped'])
    })
  })

  it('refuses to use the embedded service unless it is named', async () => {
    const env = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' }
    const done = await run(['import', write('users.csv', three), '--yes'], { env })
    expectFailure(done, 2, 'No service is selected')
    expect(existsSync(state())).to.equal(false)
  })

  describe('before it starts', () => {
    it('shows how many requests it will send, and that no quota is known', async () =>
      expect((await withRows(three)).stderr).to.match(
        /users\.csv: 3 rows, 3 requests: 3 creates\.\nQuota: unknown .*about 1s, 8 at a time/,
      ))

    it('shows the quota in the response headers', async () => {
      await serve({ quota: { requests: 40, window: 60_000, headers: 'RateLimit' } })
      const words = /Quota: 40 requests(?: per .*)?, 39 left.*The import takes about 1s/
      expect((await withRows(three)).stderr).to.match(words)
    })

    it('shows how long it will take, and where it will stop', async () => {
      const many = Array.from({ length: 250 }, (_, index) => `u${index}@example.com\n`).join('')
      const path = write('users.csv', `email\n${many}`)
      expect((await run(['import', path, '--quota', 'free'])).stderr)
        .to.match(
          /250 requests: 250 creates\.\nQuota: 100 requests per 1h, 100 left\. The import takes about 2h 1m/,
        )
        .and.contain('To let it wait, use --max-wait 1h')
    })
  })

  describe('when it runs again', () => {
    it('counts earlier rows separately, and says that they were not checked', async () => {
      await withRows(three)
      const again = expectSuccess(await importing('users.csv', '--json'))
      expect(server.requests.map(({ method, path }) => method + path)).to.deep.equal(['GET/api/user/profile'])
      expect(counts(again)).to.include({ created: 0, already_done: 3, requests: 0 })
      expect(again.stderr).to.contain('did not check that the users still exist')
    })

    it('prints no counts if the service is unreachable or refuses the key', async () => {
      await withRows(three)
      await server.close()
      for (const flags of [[], ['--quota', 'pro']])
        expect(await importing('users.csv', ...flags, '--json')).to.include({ exitCode: 69, stdout: '' })
      for (const [behavior, code] of [
        [failing(401, 'invalid_api_key', 'Invalid API key'), 4],
        [failing(503, 'down', 'The service is down'), 69],
        [failing(403, 'forbidden', 'No'), 0],
      ] as const) {
        await server.serve(behavior)
        expect((await importing('users.csv', '--retries', '0')).exitCode).to.equal(code)
        expect(server.requests.map(({ method }) => method)).to.deep.equal(['GET'])
      }
      // Also without a row to resolve.
      await server.serve(failing(401, 'invalid_api_key', 'Invalid API key'))
      expectFailure(await importing('users.csv', '--on-unknown', 'retry'), 4, 'Invalid API key')
    })

    it('sends failed rows and the steps after them again', async () => {
      const bad = new Set(['b@example.com'])
      await serve({ rejects: (email) => bad.has(email) })
      const withRole = three.replace('password\n', 'password,role\n').replace(/123\n/g, '123,admin\n')
      const first = await withRows(withRole, '--results', 'results.jsonl', '--json')
      expect(first.exitCode).to.equal(9)
      expect(counts(first)).to.include({ created: 2, failed: 1 })
      expect(error(first).code).to.equal('incomplete')
      bad.clear()
      expectSuccess(await importing('users.csv', '--results', 'results.jsonl'))
      expect(changes()).to.have.length(2)
      const lines = home.read('results.jsonl').trim().split('\n')
      for (const [index, text] of lines.entries()) {
        const { line, status, id } = JSON.parse(text)
        const isKnown = server.report().users.has(id)
        expect([line, status, isKnown]).to.deep.equal([index + 2, 'created', true])
      }
      expect(lines).to.have.length(3)
    })

    it('says that it does not send the new name of a user, except with --restart', async () => {
      await withRows(three)
      const edited = expectSuccess(await withRows(three.replace(',B,', ',Bea,')))
      expect(edited.stderr).to.match(
        /1 row is not what was last sent.*line 3, b@example.com.*\n?.*chatctl users update \S+ --help/,
      )
      expect(changes()).to.deep.equal([])
      await server.serve(new UsersHandler({ allowsDuplicates: true }))
      expect(counts(await importing('users.csv', '--restart', '--json'))).to.include({ created: 3 })
      expect(counts(await importing('users.csv', '--json'))).to.include({ created: 0, already_done: 3 })
    })
  })

  it('refuses a second run of the same file while the first one runs', async () => {
    await serve({ delay: 1500 })
    const first = withRows(three)
    while (changes().length === 0) await sleep(20)
    const second = await home.users('import', 'users.csv', '--yes')
    expectFailure(second, 7, 'Another chatctl process is importing')
    expectSuccess(await first)
    expect(server.report().users.size).to.equal(3)
  })

  it('writes the failed rows to a file that can be imported', async () => {
    await serve({ rejects: (email) => email === 'b@example.com' })
    const done = await withRows(three, '--json')
    const failed = home.path('users.failed.csv')
    expect(counts(done).failed_rows).to.equal(failed)
    expect(done.stderr).to.contain('Line 3 (b@example.com) failed: 422: No mail reaches b@example.com')
    expect(home.read('users.failed.csv')).to.equal('id,email,name,password\n,b@example.com,B,pw-b-123\n')
    expect(statSync(failed).mode & 0o777).to.equal(0o600)
    write('users.failed.csv', 'email,name,password\nb2@example.com,B,pw-b-123\n')
    // A file that someone has begun to fix is not overwritten.
    const shown = counts(await importing('users.csv', '--json')).failed_rows
    expect(shown).to.equal(home.path('users.failed-2.csv'))
    expectSuccess(await importing(failed))
    expect(created().map(({ email }) => email)).to.contain('b2@example.com')
  })

  describe('with a rate limit', () => {
    it('exits 75 if the wait is too long, and can be resumed', async () => {
      await serve({ quota: { requests: 2, window: 60_000, headers: 'Retry-After' } })
      const first = await withRows(three, '--max-wait', '1s', '--json')
      expect(first.exitCode).to.equal(75)
      const { created, remaining } = counts(first)
      expect(created + remaining).to.equal(3)
      expect(remaining).to.be.above(0)
      expect(error(first).hint).to.contain('--max-wait')
      server.liftQuota()
      expectSuccess(await importing('users.csv'))
      expect(server.report().users.size).to.equal(3)
    })

    it('reports a user as skipped while the last step of the row is not sent', async () => {
      const id = server.add({ email: 'old@example.com' })
      const done = await withRows(`id,name,role\n${id},Old,admin\n`, '--quota', '1/h', ...results)
      expect(done.exitCode).to.equal(75)
      expect(rows()[0]).to.include({ status: 'skipped', error: 'the rest of the row is not sent yet' })
    })

    it('sends no more requests than --quota allows, in all runs', async () => {
      write('users.csv', three)
      for (const requests of [2, 0]) {
        expect((await importing('users.csv', '--quota', '2/h', '--json')).exitCode).to.equal(75)
        expect(changes()).to.have.length(requests)
      }
    })
  })

  it('stops if the service refuses the key, and counts no row as failed', async () => {
    await server.serve(failing(401, 'invalid_api_key', 'Invalid API key'))
    const done = await withRows(three, '--quota', 'pro', '--json')
    expect(done.exitCode).to.equal(4)
    expect(counts(done)).to.include({ failed: 0, unknown: 0, remaining: 3 })
    expectFailure(await importing('users.csv'), 4, 'Invalid API key')
  })

  describe('with passwords', () => {
    it('writes none of them to output or files, even if the service quotes one', async () => {
      await using quoting = await startScriptedServer({
        choose: ({ method, body }) =>
          method === 'GET' ? json(200, {}) : failing(422, 'weak', `"${JSON.parse(body).password}" is weak`),
      })
      write('users.csv', 'email,password\na@example.com,pw123\nb@example.com,a-long-password\n')
      const words = ['import', 'users.csv', '--yes', '--debug', ...results]
      const { stdout, stderr } = await run(words, { service: quoting })
      const written = globSync('**/*', { cwd: state() })
        .map((name) => join(state(), name))
        .filter((name) => statSync(name).isFile())
      expect(written).not.to.deep.equal([])
      const texts = [home.path('results.csv'), ...written].map((name) => readFileSync(name, 'utf8'))
      for (const text of [stdout, stderr, ...texts]) expect(text).not.to.match(/pw123|a-long-password/)
    })

    it('generates missing ones, and writes them to the results file only', async () => {
      await serve({ rejects: (email) => email === 'b@example.com' })
      write('users.csv', 'email,password\na@example.com,\nb@example.com,\nc@example.com,own-password\n')
      expectFailure(await importing('users.csv', '--generate-passwords'), 2, '--results')
      const done = await importing('users.csv', '--generate-passwords', ...results)
      expect(done.exitCode).to.equal(9)
      expect(statSync(home.path('results.csv')).mode & 0o777).to.equal(0o600)
      const [a, b, c] = rows()
      expect([b?.['password'], c?.['password']]).to.deep.equal(['', ''])
      expect(created().find(({ email }) => email === 'a@example.com')?.password)
        .to.equal(a?.['password'])
        .and.match(/.{20}/)
      expect(`${done.stdout}${done.stderr}`).not.to.contain(a?.['password'])
      for (const flags of [['--generate-passwords'], []]) {
        expect((await importing('users.csv', ...flags, ...results)).exitCode).to.equal(9)
        expect(rows()).to.deep.equal([a, b, c])
      }
    })

    it('keeps those of another import', async () => {
      await withRows('email\na@example.com\n', '--generate-passwords', ...results)
      const before = home.read('results.csv')
      const two = write('two.csv', 'email\nb@example.com\n')
      const words = 'contains generated passwords of users that are not in the input'
      for (const flags of [[], ['--generate-passwords']])
        expectFailure(await importing(two, ...flags, ...results), 2, words)
      expect(home.read('results.csv')).to.equal(before)
      expect(server.report().users.size).to.equal(1)
    })
  })

  it('refuses to write the results to the file of rows', async () => {
    expectFailure(await withRows(three, '--results', 'users.csv'), 2, 'it is the input file')
    expect(home.read('users.csv')).to.equal(three)
  })

  describe('with permissions assign --file', () => {
    const assign = (...words: string[]) => run(['permissions', 'assign', ...words])

    it('assigns what each row contains', async () => {
      const [one = '', two = ''] = ['one', 'two'].map((name) => server.add({ email: `${name}@example.com` }))
      write('roles.csv', `id,role,permissions\n${one},admin,\n${two},,read:chat;write:chat\n`)
      expectFailure(await assign('--file', 'roles.csv'), 3, '--yes')
      expect(changes()).to.deep.equal([])
      const done = expectSuccess(await assign('--file', 'roles.csv', '--json', '--yes'))
      expect(counts(done)).to.include({ updated: 2, requests: 2 })
      const { assignments } = server.report()
      expect(assignments.get(one)).to.deep.equal([{ role: 'admin' }])
      expect(assignments.get(two)).to.deep.equal([{ permissions: ['read:chat', 'write:chat'] }])
    })

    it('refuses rows that are not assignments', async () => {
      write('roles.csv', 'id,name\nu1,Ada\n')
      expectFailure(await assign('--file', 'roles.csv'), 2, 'name')
      expectFailure(await assign('u1', '--file', 'roles.csv'), 2, '--file cannot be combined with')
      expectFailure(await assign('u1', '--role', 'x', '--restart'), 2, '--file')
    })
  })

  describe('--dry-run', () => {
    const csv = [
      ' Email ,ID,password,name,role,metadata.seats:=,settings.theme',
      'a@example.com ,,canary-1,A,editor,5,dark',
      'b@example.com,,,B,,"{""max"":[1.0]}",',
      ',u 7,,C,,,',
      'd@example.com,,canary-2,D,,,',
    ].join('\n')
    const dryRun = async (text: string, ...flags: string[]): Promise<Run> => {
      const done = expectSuccess(await run(['import', write('users.csv', text), '--dry-run', ...flags]))
      expect(done.stdout + done.stderr).not.to.include('canary')
      expect(server.requests).to.deep.equal([])
      return done
    }

    it('shows the first three requests on stderr, and the numbers as data', async () => {
      const { stdout, stderr } = await dryRun(csv)
      expect(stdout).to.equal(
        'rows\t4\nalready_done\t0\nreads\t0\ncreates\t3\nupdates\t2\nassignments\t1\nrequests\t6\n',
      )
      expect(stderr).to.include('The first 3 of 6 requests:\n')
      expect(stderr).to.include(`POST ${server.url}/v1/users (line 2)\n{\n  "email": "a@example.com",\n`)
      expect(stderr).to.include(`PATCH ${server.url}/v1/users/{id} (line 2)\n`)
      expect((await dryRun(csv, '--quiet')).stderr).to.equal('')
    })

    it('generates no password, and shows where one would be', async () => {
      const first = async (text: string) =>
        counts(await dryRun(text, '--json', '--generate-passwords', ...results)).first_requests[0].body
      expect((await first(csv)).password).to.equal('[redacted]')
      const other = await first('email\nb@example.com\n')
      expect(other).to.deep.equal({ email: 'b@example.com', password: '<generated>' })
      expect(existsSync(home.path('results.csv'))).to.equal(false)
    })

    it('shows the requests that are left', async () => {
      const two = 'email\na@example.com\nb@example.com\n'
      expectSuccess(await withRows(two))
      const nothing = counts(await dryRun(two, '--json'))
      expect(nothing).to.deep.include({ already_done: 2, requests: 0, first_requests: [] })
      expect((await dryRun(two)).stderr).not.to.include('requests:')
      const { stderr } = await dryRun(`${two}c@example.com\n`)
      expect(stderr).to.include('The request:\n').and.include(`POST ${server.url}/v1/users (line 4)\n`)
    })
  })

  describe('with an ID beside an email', () => {
    const emails = ['ada@x.org', 'bob@x.org', 'cid@x.org']
    let ids: string[]
    beforeEach(() => {
      ids = emails.map((email) => server.add({ email }))
    })
    /** Imports a file that gives each ID to one of these owners. */
    const importPairs = (owners: readonly string[], role = 'admin', ...flags: string[]) => {
      const lines = owners.map((email, at) => `${ids[at]},${email},${role}\n`)
      return withRows(`id,email,role\n${lines.join('')}`, '--json', ...flags)
    }
    const methods = () =>
      server.requests.filter(({ path }) => !path.endsWith('/profile')).map(({ method }) => method)
    const shifted = [...emails.slice(1), 'ada@x.org']

    it('reads each user once, before the first change, and then knows the ID', async () => {
      const dry = await importPairs(emails, 'admin', '--dry-run')
      expect(counts(dry)).to.include({ rows: 3, reads: 3, assignments: 3, requests: 6 })
      const done = expectSuccess(await importPairs(emails))
      expect(done.stderr).to.contain('3 rows, 6 requests: 3 reads, 3 assignments')
      expect(methods()).to.deep.equal(['GET', 'GET', 'GET', 'POST', 'POST', 'POST'])
      expect(counts(await importPairs(emails, 'editor'))).to.include({ updated: 3, requests: 3 })
      expect(methods()).not.to.include('GET')
      // The service may know better than the ledger.
      expect(await importPairs(shifted)).to.include({ exitCode: 2, stdout: '' })
      expect(methods()).not.to.include('POST')
    })

    it('changes nobody if a column is shifted', async () => {
      const done = await importPairs(shifted)
      expect(done).to.include({ exitCode: 2, stdout: '' })
      expect(done.stderr).to.contain('Nothing was sent').and.contain(`has the email \\"ada@x.org\\"`)
      expect(server.report().assignments.size).to.equal(0)
      expect(methods()).to.deep.equal(['GET', 'GET', 'GET'])
    })

    it('skips the row with --skip-invalid if the ID is wrong', async () => {
      const done = await importPairs(['ada@x.org', 'cid@x.org', 'bob@x.org'], 'admin', '--skip-invalid')
      expect(done.exitCode).to.equal(9)
      expect(counts(done)).to.include({ updated: 1, skipped: 2 })
      expect([...server.report().assignments.keys()]).to.deep.equal([ids[0]])
      expect(home.read('users.failed.csv')).to.contain('cid@x.org')
    })
  })
})

describe('the generated passwords of an import', function () {
  this.timeout(60_000)
  const home = serveUsers({ rejects: (email) => email.startsWith('bad') })
  const { server, serve, users, write, read } = home
  let results: string
  beforeEach(() => {
    results = 'results.csv'
  })

  const importing = (path: string, ...flags: string[]): Promise<Run> =>
    users('import', path, '--yes', '--generate-passwords', '--results', results, ...flags)
  /** Writes a file with these emails. */
  const writeEmails = (...names: string[]) =>
    write('users.csv', `email\n${names.map((name) => `${name}@example.com\n`).join('')}`)
  const sent = () => new Map([...server.report().users.values()].map((user) => [user.email, user.password]))
  const kept = () => home.rows(results)

  it('are different for each row, also if all rows are on one line', async () => {
    const emails = ['a@example.com', 'bad@example.com', 'c@example.com', 'own@example.com', 'e@example.com']
    const rows = emails.map((email) =>
      email.startsWith('own') ? { email, password: 'an-own-one' } : { email },
    )
    const path = write('users.json', JSON.stringify([{ email: 'no address' }, ...rows]))
    for (const run of [1, 2]) {
      expect((await importing(path, '--skip-invalid')).exitCode).to.equal(9)
      const made = kept().filter(({ status }) => status === 'created')
      expect(made).to.have.length(4)
      expect(new Set(sent().values()).size, `run ${run}`).to.equal(4)
      for (const { email = '', password } of made)
        expect(password).to.equal(email.startsWith('own') ? '' : sent().get(email))
    }
  })

  it('are named only for users that were sent with them, if another command creates one later', async () => {
    await serve({ quota: { requests: 3, window: 60_000, headers: 'RateLimit' } })
    const path = writeEmails('a', 'bad', 'c', 'd')
    expect((await importing(path, '--concurrency', '1', '--max-wait', '0s')).exitCode).to.equal(75)
    const passwordOf = (email: string) => sent().get(email)
    expect(kept().map(({ email, password, status }) => [email, status, password])).to.deep.equal([
      ['a@example.com', 'created', passwordOf('a@example.com')],
      ['bad@example.com', 'failed', ''],
      ['c@example.com', 'skipped', ''],
      ['d@example.com', 'skipped', ''],
    ])
    server.liftQuota()
    expectSuccess(await users('create', '--email', 'd@example.com', '--no-password'))
    await importing(path)
    const passwords = [passwordOf('a@example.com'), '', passwordOf('c@example.com'), '']
    expect(kept().map(({ password }) => password)).to.deep.equal(passwords)
  })

  for (const name of ['results.csv', 'results.jsonl'])
    it(`are unknown in ${name} after a kill, and stay the same in the next run`, async () => {
      results = name
      const path = writeEmails('a', 'b')
      let killed = ''
      server.onRequest = ({ method, body }) => {
        if (method !== 'POST') return
        killed = read(results)
        const { password } = JSON.parse(body)
        expect(killed).to.contain('the run ended before a response arrived').and.contain(password)
      }
      expectSuccess(await importing(path, '--concurrency', '1'))
      server.onRequest = undefined
      const whole = read(results)
      const lines = killed.trimEnd().split('\n')
      expect(lines.at(-1)).to.contain('"unknown"')
      // A killed run leaves an incomplete line for a create that was not sent.
      const begun = lines[1]?.replaceAll('a@example.com', 'c@example.com') ?? ''
      for (let end = 0; end < begun.length; end += 3) {
        write(results, killed + begun.slice(0, end))
        expect((await importing(path)).exitCode, `${end}`).to.equal(0)
        expect(read(results)).to.equal(whole)
      }
    })

  it('are not generated again for a create that may have succeeded, if the file does not have them', async () => {
    server.fates = { refused: 1 }
    const path = writeEmails('a')
    expect((await importing(path)).exitCode).to.equal(9)
    expect(kept()[0]).to.include({ status: 'unknown' }).and.property('password').match(/.{20}/)
    server.endFates()
    results = 'other.csv'
    const again = await importing(path, '--on-unknown', 'retry')
    expect(again.stderr).to.contain('other.csv does not have the passwords of 1 user')
    expect(kept()[0]).to.include({ status: 'created', password: '' })
    expect([...sent()]).to.deep.equal([['a@example.com', undefined]])
    expect(read('results.csv')).to.contain(',unknown,')
  })

  it('are also generated by the command that the hint suggests for failed rows', async () => {
    const { stderr } = await importing(writeEmails('a', 'bad'))
    const [, hint = ''] = /Hint: {2}Fix the row, and run: chatctl (.*)$/m.exec(stderr) ?? []
    write('users.failed.csv', 'email\nb@example.com\n')
    expectSuccess(await home.chatctl([...hint.split(' '), '--yes']))
    expect(sent().get('b@example.com')).to.match(/.{12}/)
  })

  it('are suggested if users have no password', async () => {
    const path = write('users.csv', 'email,password\na@example.com,\nb@example.com,pw\n')
    const run = async () => (await users('import', path, '--yes')).stderr
    expect(await run()).to.contain(
      'Warning: 1 new user without a password. If the service requires one, use --generate-passwords',
    )
    expect(await run())
      .to.contain('done by earlier runs')
      .and.not.to.contain('without a password')
    expect((await importing(path, '--restart')).stderr).not.to.contain('without a password')
  })

  it('are kept if a spreadsheet has saved the results file in another notation', async () => {
    const path = write('users.csv', 'email\r\na@example.com\r\nbad@example.com\r\nc@example.com\r\n')
    await importing(path)
    const before = kept()
    for (const [separator, end] of [
      [',', '\r\n'],
      [';', '\n;;;;;\n'],
      ['\t', '\r'],
    ] as const) {
      const text = read(results).replaceAll(',', separator).replaceAll('\n', end)
      write(results, `\ufeff${text}`)
      expect((await importing(path)).exitCode).to.equal(9)
      expect(kept()).to.deep.equal(before)
    }
  })

  it('are in a file that no other process writes at the same time', async () => {
    const path = writeEmails('a')
    const lock = () => tryProcessLock(home.path('results.csv.lock'))
    let isFree: boolean | undefined
    server.onRequest = ({ method }) => {
      if (method === 'POST') isFree = lock() !== undefined
    }
    expectSuccess(await importing(path))
    expect(isFree).to.equal(false)
    const before = read(results)
    const release = lock()
    const other = await importing(write('others.csv', 'email\nb@example.com\n'))
    release?.()
    expectFailure(other, 7, `Another chatctl process is writing ${home.path(results)}`)
    expect([read(results), sent().size]).to.deep.equal([before, 1])
  })

  it('are not written to a device', async function () {
    if (process.platform === 'win32') this.skip()
    results = 'out.jsonl'
    symlinkSync('/dev/null', home.path(results))
    expectFailure(await importing(writeEmails('a')), 2, 'not a regular file')
    expect(sent().size).to.equal(0)
  })

  it('are not overwritten by the file of failed rows', async () => {
    results = 'users.failed.csv'
    const refused = await importing(writeEmails('a', 'bad'))
    expectFailure(refused, 2, 'chatctl writes failed or unknown rows there')
    expect(sent().size).to.equal(0)
  })
})

describe('a generated password in a results file', () => {
  const directory = perTest(makeEmptyDirectory)
  const email = 'Ada@example.com'
  const result = (status: RowStatus) => ({ line: '2', email, id: '', status, error: '' })

  interface Case {
    /** The status in the file, with the password `old`; undefined if the file does not exist. */
    before?: RowStatus
    mayHaveSent?: boolean
    /** What happened to a create that was about to be sent. */
    create?: 'begun' | 'settled' | 'taken'
    /** The status in the end. */
    status: RowStatus
    /** The row in the file in the end: its status and its password. */
    row: string
  }
  const cases: Record<string, Case> = {
    'a create': { create: 'settled', status: 'created', row: 'created new' },
    'a create without a response': { create: 'settled', status: 'unknown', row: 'unknown new' },
    'a refused create': { create: 'settled', status: 'failed', row: 'failed ' },
    'an email that another user has': { create: 'taken', status: 'failed', row: 'failed ' },
    'a create that was not sent': { create: 'begun', status: 'skipped', row: 'skipped ' },
    'a create that may have been sent without the file': {
      ...{ mayHaveSent: true, create: 'settled', status: 'created', row: 'created ' },
    },
    'a created user, if the rest of the row is not sent yet': {
      ...{ before: 'skipped', status: 'skipped', row: 'skipped old' },
    },
    'a user whom this machine does not know': {
      ...{ before: 'created', create: 'taken', status: 'failed', row: 'failed old' },
    },
  }
  /** The status in the file is unknown. */
  const killed: Record<string, Case> = {
    'whose user was created': { mayHaveSent: true, status: 'created', row: 'created old' },
    'if another command created the user': { status: 'created', row: 'created ' },
    'if the next one ends early': { status: 'skipped', row: 'unknown old' },
    'if the next one ends while it waits': { create: 'begun', status: 'skipped', row: 'unknown old' },
    'if the next one creates the user': { create: 'settled', status: 'created', row: 'created old' },
    'if the next one is refused': { create: 'settled', status: 'failed', row: 'failed ' },
    'if the next one finds that its user exists': {
      ...{ mayHaveSent: true, create: 'taken', status: 'failed', row: 'failed old' },
    },
  }
  for (const [what, one] of Object.entries(killed))
    cases[`a killed run, ${what}`] = { before: 'unknown', ...one }

  for (const [what, { before, mayHaveSent = false, create, status, row }] of Object.entries(cases))
    it(`is ${row.endsWith(' ') ? 'not named' : 'named'} in the row "${row}": that of ${what}`, async () => {
      const path = join(directory.path, 'results.csv')
      if (before) await writeResults(path, [{ ...result(before), password: 'old' }], true)
      const passwords = new GeneratedPasswords(path, () => 'new')
      passwords.open({ emails: [email], mayHaveSent: () => mayHaveSent })
      const sent = mayHaveSent ? undefined : 'new'
      if (create) expect(await passwords.passwordOf({ email, line: 2 })).to.equal(before ? 'old' : sent)
      if (create === 'settled' || create === 'taken') passwords.settle(result(status), create === 'taken')
      await passwords.finish([result(status)])
      expect(readResults(path).map((one) => `${one.status} ${one.password}`)).to.deep.equal([row])
    })
})

describe('a results file', () => {
  const directory = perTest(makeEmptyDirectory)

  it('may be empty or have no rows, but not other columns', () => {
    const path = join(directory.path, 'other.csv')
    for (const text of ['name,phone', 'email,name\n']) {
      writeFileSync(path, text)
      expect(() => readResults(path)).to.throw('is not a results file')
    }
    for (const text of ['', 'line;email;id;status;error\n']) {
      writeFileSync(path, text)
      expect(readResults(path)).to.deep.equal([])
    }
  })

  it('can be read back, whatever error text the service returned', async () => {
    const unit = fc.constantFrom('a', '"', ',', '\n', '\r', '\u2028', '\u2029', '\u0085')
    const errors = fc.array(fc.string({ unit }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(errors, fc.constantFrom('csv', 'jsonl'), async (texts, format) => {
        const path = join(directory.path, `results.${format}`)
        const results = texts.map((error, index) => ({
          ...{ line: String(index + 2), email: `user${index}@example.com`, id: '' },
          ...{ status: 'failed' as const, error, password: `password-${index}` },
        }))
        await writeResults(path, results, true)
        const shown = readResults(path).map(({ email, password }) => [email, password])
        expect(shown).to.deep.equal(results.map(({ email, password }) => [email, password]))
      }),
      { numRuns: 60 },
    )
  })
})
