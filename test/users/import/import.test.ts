import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
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
      const places = [...done.stderr.matchAll(/users\.csv:(\d+:\d+: .*)/g)].map(([, words]) => words)
      expect(places[0]).to.match(/^3:1: "nobody" is not a valid email address/)
      expect(places[1]).to.match(/^4:29: permission "read" must have the form/)
      expect(places[2]).to.match(/^5:1: .*line 2/)
      expect(places).to.have.length(3)
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
      const lines = home
        .read('results.jsonl')
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

  it('never creates a user again whose ID the service did not return', async () => {
    await serve({ idIn: ['nowhere'] })
    const done = await withRows(
      'email,role\na@example.com,admin\nb@example.com,\n',
      '--json',
      '--without-ids',
    )
    expect(counts(done)).to.include({ created: 1, unknown: 1 })
    const retried = await importing('users.csv', '--on-unknown', 'retry', '--json')
    expect(changes()).to.deep.equal([])
    expect(counts(retried)).to.include({ unknown: 1 })
    const id = home.idOf('a@example.com')
    const settled = expectSuccess(
      await importing('users.csv', '--on-unknown', 'created', '--id', id, '--json'),
    )
    expect(counts(settled)).to.include({ created: 1, already_done: 1, unknown: 0 })
    expect(server.report().assignments.get(id)).to.deep.equal([{ role: 'admin' }])
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

    it('ends the window of --quota when the service does', async () => {
      const half = { 'ratelimit-policy': '"hour";q=2;w=3600', ratelimit: '"hour";r=1;t=1800' }
      await server.serve(json(201, { id: 'u' }, half))
      const done = await withRows(three, '--quota', '2/h', '--concurrency', '1', '--max-wait', '0s')
      expect(done.exitCode, done.stderr).to.equal(75)
      expect(done.stderr).to.match(/Try again in (30|29) min/)
      expect(server.requests.length).to.equal(2)
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
