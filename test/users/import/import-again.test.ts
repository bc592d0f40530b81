import { hash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { parse } from 'node:path'
import { expect } from 'chai'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import type { Run } from '../../support/run-chatctl.ts'
import {
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { printedBy as counts, runAgainst, serveUsers } from '../users-run.ts'

const linesOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')
/** One request at a time, and none that waits. */
const slowly = ['--concurrency', '1', '--max-wait', '1s']

describe('an import after other commands and runs', function () {
  this.timeout(60_000)
  let behave: (request: RecordedRequest, count: number) => Behavior
  let read: Behavior
  let count: number
  const server = perTest(() =>
    startScriptedServer({
      choose: (request) => {
        if (request.method !== 'GET') return behave(request, ++count)
        return request.path.startsWith('/v1/users/') ? read : json(200, {})
      },
    }),
  )
  const home = runAgainst(server)
  beforeEach(() => {
    count = 0
    read = json(200, {})
    behave = (_, count) => json(201, { id: `u${count}` })
  })

  const write = (name: string, ...lines: string[]) => home.write(name, linesOf(lines))
  const sent = () => home.changes().map((request) => request.split(' ')[1])
  /** Imports a file. `sent` then has only its requests. */
  const importing = (name: string, ...flags: string[]) => {
    server.requests.length = 0
    count = 0
    return home.users('import', name, '--yes', '--json', ...flags)
  }
  const create = (...flags: string[]) => home.users('create', '--email', 'a@x.org', '--no-password', ...flags)
  const limitAfter = (most: number) => {
    behave = (_, count) => (count > most ? limited({ 'retry-after': '600' }) : json(200, {}))
  }

  it('counts what users create made, which no resolution changes', async () => {
    write('a.csv', 'email', 'a@x.org')
    behave = () => reset
    expect((await importing('a.csv')).exitCode).to.equal(9)
    behave = () => json(201, { id: 'u2' })
    await create()
    for (const flags of [[], ['--on-unknown', 'skip']])
      expect(counts(await importing('a.csv', ...flags))).to.include({ already_done: 1, requests: 0 })
    read = json(200, { id: 'u2', email: 'a@x.org' })
    expect(counts(await home.users('get', 'a@x.org', '--json'))).to.include({ id: 'u2' })
  })

  it('takes the ID that was given for an email with several users', async () => {
    await create()
    await create('--allow-duplicates')
    write('a.csv', 'email,role', 'a@x.org,staff')
    expect((await importing('a.csv')).exitCode).to.equal(9)
    expectSuccess(await importing('a.csv', '--on-unknown', 'created', '--id', 'u2'))
    expect(sent()).to.deep.equal(['/v1/users/u2/permissions'])
    expect(counts(await importing('a.csv'))).to.include({ already_done: 1, requests: 0 })
  })

  it('keeps a skipped row to its own file', async () => {
    write('a.csv', 'email', 'a@x.org')
    write('b.csv', 'email,name', 'a@x.org,A', 'b@x.org,B')
    behave = () => reset
    await importing('a.csv')
    for (const flags of [['--on-unknown', 'skip'], []])
      expect(counts(await importing('a.csv', ...flags))).to.include({ skipped: 1, unknown: 0 })
    behave = () => json(201, { id: 'u9' })
    expect(counts(await importing('b.csv'))).to.include({ created: 1, unknown: 1 })
  })

  it('stops after the first user without an ID, also if IDs of others were read', async () => {
    read = json(200, { email: 'old@x.org' })
    behave = ({ method }) => json(method === 'PATCH' ? 200 : 201, {})
    write('old.csv', 'id,email,name', 'u7,old@x.org,Old')
    expectSuccess(await importing('old.csv'))
    write('new.csv', 'email,role', 'a@x.org,staff', 'b@x.org,staff')
    expect((await importing('new.csv')).exitCode).to.equal(9)
    expect(sent()).to.have.length(1)
  })

  it('continues the import of a copy, and not that of a part', async () => {
    limitAfter(2)
    write('all.csv', 'id,role', 'u1,staff', 'u2,staff', 'u3,staff')
    expect((await importing('all.csv', ...slowly)).exitCode).to.equal(75)
    behave = () => json(200, {})
    write('part.csv', 'id,role', 'u1,staff', 'u2,staff')
    expect(counts(await importing('part.csv'))).to.include({ updated: 2, requests: 2 })
    expect((await home.chatctl(['doctor'])).stdout).to.contain('all.csv')
    limitAfter(2)
    await importing('all.csv', '--restart', ...slowly)
    behave = () => json(200, {})
    renameSync(home.path('all.csv'), home.path('copy.csv'))
    expect(counts(await importing('copy.csv'))).to.include({ already_done: 2, requests: 1 })
    expect(counts(await importing('copy.csv'))).to.include({ updated: 3, requests: 3 })
  })

  it('knows its own requests below a base URL that ends with a slash', async () => {
    limitAfter(1)
    write('a.csv', 'id,role', 'u1,staff', 'u2,staff')
    const env = { CHATCTL_BASE_URL: `${server.url}/prefix/` }
    const run = () => home.chatctl(['users', 'import', 'a.csv', '--yes', '--json', ...slowly], { env })
    expect((await run()).exitCode).to.equal(75)
    behave = () => json(200, {})
    expect(counts(await run())).to.include({ already_done: 1, requests: 1 })
  })

  it('keeps the password of a create that may have succeeded, also if the file is renamed', async () => {
    const password = () => home.rows('out.csv').at(-1)?.['password']
    const flags = ['--generate-passwords', '--results', 'out.csv']
    write('a.csv', 'email', 'a@x.org')
    behave = () => reset
    await importing('a.csv', ...flags)
    const first = password()
    expect(first).to.match(/^.{20,}$/)
    renameSync(home.path('a.csv'), home.path('b.csv'))
    await importing('b.csv', ...flags)
    expect(password()).to.equal(first)
    read = json(200, { email: 'other@x.org' })
    await importing('b.csv', ...flags, '--on-unknown', 'created', '--id', 'u7', '--skip-invalid')
    expect(password()).to.equal(first)
  })

  it('reads a user beside an email once, also if the run ends before a change', async () => {
    read = json(200, { email: 'a@x.org' })
    write('a.csv', 'id,email,role', 'u1,a@x.org,staff', 'u2,b@x.org,staff')
    const run = await importing('a.csv', '--quota', '1/h', '--max-wait', '1s')
    expect([run.exitCode, sent()], run.stderr).to.deep.equal([75, []])
    expect(counts(await importing('a.csv', '--dry-run'))).to.include({ reads: 1, requests: 3 })
  })
})

describe('importing a file of users again after it has changed', function () {
  this.timeout(60_000)
  // Duplicates are allowed, so that the test notices a user that is created twice.
  const home = serveUsers({ allowsDuplicates: true })
  const { server, serve, rows, idOf } = home

  const importing = (...flags: string[]) => home.users('import', 'users.csv', '--yes', '--json', ...flags)
  const write = (...lines: string[]) => home.write('users.csv', linesOf(lines))
  const emails = () => [...server.report().creates].flatMap(([email, { ids }]) => ids.map(() => email)).sort()

  it('creates only the new rows, at any position', async () => {
    write('email,name', 'a@x.org,A', 'c@x.org,C')
    await importing()
    write('email,name', 'a@x.org,A', 'c@x.org,C', 'd@x.org,D')
    expect(counts(await importing('--dry-run'))).to.include({ rows: 3, already_done: 2, creates: 1 })
    expect(counts(expectSuccess(await importing()))).to.include({ created: 1, already_done: 2 })
    // Another order of columns and other quoting make no difference.
    write('name,email', 'D,d@x.org', 'B,b@x.org', '"C",c@x.org', 'A,a@x.org')
    expect(counts(await importing())).to.include({ created: 1, already_done: 3 })
    expect(emails()).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org', 'd@x.org'])
    expect(counts(await importing())).to.include({ created: 0, already_done: 4 })
  })

  it('ignores a removed row, unless its outcome is unknown', async () => {
    server.fates = { lost: 1 }
    write('email', 'a@x.org')
    await importing()
    server.endFates()
    write('email', 'b@x.org')
    const done = await importing()
    expect(counts(done)).to.include({ created: 1 })
    expect(done.stderr).to.contain('The outcome of the creation of 1 user is unknown').and.contain('a@x.org')
    write('email', 'c@x.org')
    expect(counts(await importing())).to.include({ created: 1, already_done: 0 })
  })

  it('assigns the new role of a user whose row was edited', async () => {
    write('email,role', 'a@x.org,admin')
    server.onRequest = ({ path }) => {
      // The user is deleted before the assignment arrives.
      if (path.endsWith('/permissions')) (server.report().users as Map<string, unknown>).clear()
    }
    expect(counts(await importing())).to.include({ failed: 1 })
    server.onRequest = undefined
    write('email,role', 'a@x.org,editor')
    expect((await importing('--dry-run')).stdout).to.contain('"role": "editor"')
    expect(counts(await importing())).to.include({ created: 0, failed: 1 })
    expect(emails()).to.deep.equal(['a@x.org'])
  })

  it('accepts a failed row that was fixed in place', async () => {
    await serve({ rejects: (email) => email.startsWith('bad') })
    write('email', 'a@x.org', 'bad@x.org')
    expect((await importing()).exitCode).to.equal(9)
    write('email', 'a@x.org', 'good@x.org')
    expect(counts(await importing())).to.include({ created: 1, already_done: 1 })
    expect(existsSync(home.path('users.failed.csv'))).to.equal(false)
  })

  it('keeps the rows whose outcome is unknown', async () => {
    server.fates = { lost: 1 }
    write('email', 'a@x.org')
    expect(counts(await importing())).to.include({ unknown: 1 })
    server.endFates()
    write('email', 'b@x.org', 'a@x.org')
    const grown = await importing()
    expect(counts(grown)).to.include({ created: 1, unknown: 1 })
    expect(grown.stderr).to.contain('--line 3')
    expect(emails()).to.deep.equal(['a@x.org', 'b@x.org'])
  })

  it('keeps the generated passwords of earlier rows, also if those rows have moved', async () => {
    const flags = ['--generate-passwords', '--results', 'results.csv']
    const passwords = () => rows().map(({ line: _, ...row }) => row)
    write('email', 'a@x.org', 'b@x.org')
    await importing(...flags)
    const before = passwords()
    write('email', 'c@x.org', 'b@x.org', 'a@x.org')
    expectSuccess(await importing(...flags))
    expect(passwords()).to.include.deep.members(before)
    expect(emails()).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org'])
  })

  describe('with users who were created from this machine before', () => {
    const two = 'email,name,role\na@x.org,A,editor\nb@x.org,B,editor\n'
    /** Imports a file with this text. `sent` then has only its requests. */
    const importText = (name: string, text: string, ...flags: string[]): Promise<Run> => {
      if (name !== '-') home.write(name, text)
      server.requests.length = 0
      return home.chatctl(['users', 'import', name, '--yes', '--json', ...flags], { stdin: text })
    }
    /** The emails of the creates, and the paths of the assignments. */
    const sent = () =>
      server.requests.flatMap(({ method, path, body }) => {
        if (method === 'GET') return []
        return path.endsWith('/permissions') ? [path] : [JSON.parse(body).email as string]
      })
    const results = ['--results', 'results.csv']
    const limit = (quota: string) => ['--concurrency', '1', '--quota', quota]
    const assigned = (email: string) => `/v1/users/${idOf(email)}/permissions`
    const creates = (email: string) => server.report().creates.get(email)?.ids

    for (const name of ['renamed.csv', 'other/users.csv', '-'])
      it(`sends only an added row: ${name}`, async () => {
        await importText('users.csv', two)
        const more = `${two}c@x.org,C,editor\n`
        const dry = await importText(name, more, '--dry-run')
        expect(counts(dry)).to.include({ already_done: 2, creates: 1, assignments: 1 })
        expect(dry.stderr).to.contain('2 emails in the file')
        const done = expectSuccess(await importText(name, more, ...results))
        expect(done.stderr).to.match(/"2 emails in the file belong .*--allow-duplicates/)
        expect(counts(done)).to.include({ created: 1, already_done: 2, requests: 2 })
        expect(sent()).to.deep.equal(['c@x.org', assigned('c@x.org')])
        const shown = rows().map(({ id, status }) => [id, status])
        expect(shown).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org'].map((one) => [idOf(one), 'created']))
        expect(counts(await importText(name, more))).to.include({ created: 0, already_done: 3 })
        expect(sent()).to.deep.equal([])
      })

    it('assigns the role of a row to the user that any command created with its email', async () => {
      await home.users('create', '--email', 'A@x.org', '--no-password')
      await importText('other.csv', 'email,name\nb@x.org,Other\n')
      const done = await importText('users.csv', two, ...results, '--generate-passwords')
      expect(counts(done)).to.include({ created: 0, updated: 2, requests: 2 })
      expect(done.stderr).not.to.contain('passwords of')
      expect(sent().sort()).to.deep.equal([assigned('A@x.org'), assigned('b@x.org')].sort())
      expect(rows()[0]).to.include({ id: idOf('A@x.org'), status: 'updated', password: '' })
      const next = await importText('users.csv', two, ...results, '--generate-passwords')
      expect(counts(next)).to.include({ updated: 0, already_done: 2, requests: 0 })
    })

    it('creates them again with --allow-duplicates, once for each file', async () => {
      await importText('users.csv', two)
      const again = (...flags: string[]) => importText('again.csv', `${two}c@x.org,C,\n`, ...flags)
      await again()
      const duplicated = counts(await again('--allow-duplicates'))
      expect(duplicated).to.include({ created: 2, already_done: 1, requests: 4 })
      for (const flags of [[], ['--allow-duplicates']])
        expect(counts(await again(...flags))).to.include({ requests: 0 })
      expect(creates('a@x.org')).to.have.length(2)
    })

    it('creates them again with --restart, also if that run was interrupted', async () => {
      await importText('users.csv', two)
      expect((await importText('users.csv', two, '--restart', ...limit('6/h'))).exitCode).to.equal(75)
      expect(counts(await importText('users.csv', two))).to.include({ created: 1 })
      expect(creates('b@x.org')).to.have.length(2)
    })

    it('finds them again in a later run after --restart has finished', async () => {
      await importText('users.csv', two)
      const own = 'email\nc@x.org\n'
      await importText('c.csv', own)
      expect(counts(await importText('c.csv', own, '--restart'))).to.include({ created: 1 })
      const known = counts(await importText('c.csv', `${own}a@x.org\n`))
      expect(known).to.include({ already_done: 2, requests: 0 })
      const more = `${own}a@x.org\nd@x.org\n`
      expect(counts(await importText('c.csv', more))).to.include({ created: 1 })
      const last = counts(await importText('c.csv', `${more}b@x.org\n`))
      expect(last).to.include({ already_done: 4, requests: 0 })
    })

    it('does not send the rows of an interrupted import that another import has sent meanwhile', async () => {
      expect((await importText('users.csv', two, ...limit('2/h'))).exitCode).to.equal(75)
      await importText('copy.csv', 'email,name,role\nx@x.org,X,\nb@x.org,B,editor\n')
      expect(counts(await importText('users.csv', two))).to.include({ already_done: 2, requests: 0 })
      expect(creates('b@x.org')).to.have.length(1)
    })

    it('sends a fixed row of the file of failed rows, and then does not send it from the first file', async () => {
      let isFixed = false
      await serve({ rejects: () => !isFixed })
      const first = 'email,role\nbad@x.org,editor\n'
      await importText('users.csv', first)
      isFixed = true
      await importText('users.failed.csv', 'email,role\nbad@x.org,admin\n')
      expect(sent()[0]).to.equal('bad@x.org')
      await importText('users.csv', first)
      expect(sent()).to.deep.equal([assigned('bad@x.org')])
    })

    describe('perhaps', () => {
      beforeEach(async () => {
        server.fates = { lost: 1 }
        await importText('users.csv', 'email,role\na@x.org,editor\n')
        server.endFates()
      })

      it('does not send a create that may have been made, and lets it be resolved', async () => {
        const text = 'email,role\nb@x.org,\nA@x.org,editor\n'
        const done = await importText('copy.csv', text)
        expect(done.exitCode).to.equal(9)
        expect(counts(done)).to.include({ created: 1, unknown: 1 })
        expect(done.stderr).to.match(/may have created this user(.|\n)*--on-unknown retry --line 3/)
        expectSuccess(await importText('copy.csv', text, '--on-unknown', 'created', '--id', idOf('a@x.org')))
        expect(sent()).to.deep.equal([assigned('a@x.org')])
      })

      it('generates the password of a create that is sent again', async () => {
        const flags = [...results, '--generate-passwords']
        const text = 'email\nb@x.org\na@x.org\n'
        await importText('copy.csv', text, ...flags)
        expect(rows()[1]).to.include({ status: 'unknown', password: '' })
        await importText('copy.csv', text, ...flags, '--on-unknown', 'retry')
        expect(rows()[1]).to.include({ status: 'created' })
        const password = [...server.report().users.values()].at(-1)?.password
        expect(password).to.equal(rows()[1]?.['password']).and.not.equal('')
      })
    })

    it('leaves no unfinished import if the confirmation prompt was declined', async () => {
      await importText('users.csv', two)
      home.write('more.csv', `${two}c@x.org,C,\n`)
      expect((await home.users('import', 'more.csv')).exitCode).to.equal(3)
      expect((await home.users('import', 'more.csv', '--close')).stderr).to.contain('No unfinished import')
    })
  })
})

describe('updates and assignments in a file', function () {
  this.timeout(60_000)
  const home = serveUsers()
  const { server } = home
  const assign = (...flags: string[]) =>
    home.users('permissions', 'assign', '--file', 'roles.csv', '--yes', '--json', ...flags)
  const importing = (...flags: string[]) => home.users('import', 'users.csv', '--yes', '--json', ...flags)
  const add = (...names: string[]) => names.map((name) => server.add({ email: `${name}@x.org` }))
  const write = (name: string, header: string, ...lines: string[]) =>
    home.write(name, linesOf([header, ...lines]))

  it('are sent again by every run after a finished one', async () => {
    const ids = add('a', 'b')
    write('roles.csv', 'id,role', ...ids.map((id) => `${id},editor`), 'gone,editor')
    for (const night of [1, 2, 3]) {
      const done = await assign()
      expect(done.exitCode, done.stderr).to.equal(9)
      expect(counts(done)).to.include({ updated: 2, already_done: 0, failed: 1, requests: 3 })
      expect(server.report().assignments.get(ids[0] ?? '')).to.have.length(night)
    }
  })

  it('use one file of failed rows, also if the file changes every day', async () => {
    const [id] = add('a')
    const failed = home.path('roles.failed.csv')
    for (const role of ['editor', 'admin', 'member']) {
      write('roles.csv', 'id,role', `${id},${role}`, `gone,${role}`)
      expect(counts(await assign())).to.include({ updated: 1, failed: 1, failed_rows: failed })
    }
    write('roles.csv', 'id,role', `${id},editor`)
    expectSuccess(await assign())
    expect(existsSync(failed)).to.equal(false)
  })

  it('are resumed after an interrupted run', async () => {
    write('roles.csv', 'id,role', ...add('a', 'b', 'c').map((id) => `${id},editor`))
    expect((await assign('--quota', '2/h')).exitCode).to.equal(75)
    const rest = await assign()
    expect(counts(rest)).to.include({ updated: 1, already_done: 2, requests: 1 })
    expect(rest.stderr).to.contain('2 rows were done by earlier runs')
    expect(counts(await assign())).to.include({ updated: 3, already_done: 0, requests: 3 })
  })

  it('are sent again if the file also has new users, who are not created again', async () => {
    const [id] = add('old')
    const header = 'id,email,role'
    write('users.csv', header, `${id},,editor`, ',new@x.org,editor')
    expect(counts(await importing())).to.include({ created: 1, updated: 1 })
    expect(counts(await importing())).to.include({ created: 0, updated: 1, already_done: 1, requests: 1 })
    // A new role is sent, because the last run has finished.
    write('users.csv', header, `${id},,admin`, ',new@x.org,editor')
    expect(counts(await importing())).to.include({ updated: 1, already_done: 1, requests: 1 })
    expect(server.report().creates.get('new@x.org')?.ids).to.have.length(1)
  })

  it('are unfinished for doctor and --close if a later run was interrupted', async () => {
    write('users.csv', 'id,email,role', ...add('a', 'b').map((id) => `${id},,editor`), ',new@x.org,')
    expectSuccess(await importing())
    // The first run has used three of the four requests.
    expect((await importing('--quota', '4/h')).exitCode).to.equal(75)
    const closed = expectSuccess(await home.users('import', 'users.csv', '--close', '--json'))
    const file = home.path('users.csv')
    expect(counts(closed)[0]).to.include({ file, rows: 3, sent: 2, unknown: 0 })
  })
})

describe('users import --restart', function () {
  this.timeout(60_000)
  const home = serveUsers({ allowsDuplicates: true })
  const { server } = home
  beforeEach(() => home.write('users.csv', 'email\na@example.com\nb@example.com\n'))
  const importing = (...flags: string[]) => home.users('import', 'users.csv', ...flags)

  it('changes what is known only when something is sent', async () => {
    expectSuccess(await importing('--yes'))
    expectSuccess(await importing('--restart', '--dry-run'))
    expect((await importing('--restart')).exitCode).to.equal(3)
    await server.close()
    expect((await importing('--restart', '--yes')).exitCode).to.equal(69)
    await server.open()
    expectSuccess(await importing('--yes'))
    expect(server.report().users.size).to.equal(2)
    home.write('users.csv', 'email\na@example.com\nc@example.com\n')
    expectSuccess(await importing('--restart', '--yes'))
    expectSuccess(await importing('--yes'))
    expect(server.report().users.size).to.equal(4)
  })

  it('reports an import that cannot be locked, also for --close', async () => {
    server.fates = { lost: 1 }
    expect((await importing('--yes')).exitCode).to.equal(9)
    const [ledger = ''] = ledgersOf(home.sandbox)
    mkdirSync(`${ledger}.${hash('sha256', home.path('users.csv')).slice(0, 12)}.lock`)
    const words = `Cannot use the directory ${parse(ledger).dir}: unable to open database file`
    for (const flag of ['--yes', '--close']) expectFailure(await importing(flag), 1, words)
  })

  it('is not part of the suggested command that resolves a row', async () => {
    server.fates = { lost: 1 }
    const done = await importing('--restart', '--yes')
    const [, command = ''] = /^ {2}chatctl (users import .*--on-unknown skip.*)$/m.exec(done.stderr) ?? []
    expect(command).to.contain('users.csv').and.not.to.contain('--restart')
    expect((await home.chatctl(command.split(' '))).exitCode).to.equal(9)
    expect((await importing('--yes', '--restart', '--on-unknown', 'skip')).exitCode).to.equal(2)
    expect(server.report().users.size).to.equal(2)
  })

  it('is resumed without --restart', async () => {
    await home.serve({ quota: { requests: 1, window: 60_000, headers: 'Retry-After' } })
    const done = await importing('--restart', '--yes', '--max-wait', '1s', '--quota', '100/h')
    expect(done.exitCode).to.equal(75)
    expect(done.stderr).to.contain('To resume, run the same command without --restart.')
  })
})

describe('an import with many rows whose outcome is unknown', function () {
  this.timeout(60_000)
  const home = serveUsers({ seed: 3, fates: { lost: 0.3 } })
  const { server, users } = home
  const rows = 120
  let path: string
  beforeEach(() => {
    const emails = Array.from({ length: rows }, (_, index) => `user${index}@example.com`)
    path = home.write('users.jsonl', linesOf(emails.map((email) => JSON.stringify({ email }))))
  })

  const importing = (...flags: string[]) => users('import', path, '--yes', ...flags)
  const close = (...flags: string[]) => users('import', path, '--close', ...flags)
  const imports = async () =>
    counts(await home.chatctl(['doctor', '--jq', '[.[] | select(.check == "imports")]']))

  it('names ten of the rows, writes all of them to a file, and prints counts', async () => {
    const list = home.path('users.unknown.csv')
    const done = await importing('--json')
    const { unknown, unknown_rows } = counts(done)
    expect(unknown).to.be.above(20)
    expect(unknown_rows).to.equal(list)
    expect(statSync(list).mode & 0o777).to.equal(0o600)
    const listed = home.rows('users.unknown.csv')
    expect(listed).to.have.length(unknown)
    expect(Object.keys(listed[0] ?? {})).to.deep.equal(['line', 'email', 'id', 'status', 'error'])
    for (const { line, email, status } of listed)
      expect([email, status]).to.deep.equal([`user${Number(line) - 1}@example.com`, 'unknown'])
    const warning = JSON.parse(done.stderr.split('\n').find((line) => line.includes('is unknown')) ?? '')
    expect(warning.warning.message.match(/is unknown/g)).to.have.length(10)
    expect(warning.warning.message).to.contain(`and ${unknown - 10} more; all are listed in ${list}`)
    // A row can be resolved with the data of the list.
    const skipped = await importing('--on-unknown', 'skip', '--line', listed.at(-1)?.['line'] ?? '', '--json')
    expect(counts(skipped)).to.include({ unknown: unknown - 1, skipped: 1 })
    await importing('--on-unknown', 'skip')
    expect(existsSync(list)).to.equal(false)
  })

  it('can be closed, also without its file, and is resumed when the file is imported again', async () => {
    const { unknown, created } = counts(await importing('--json'))
    expect(await imports()).to.have.length(1)
    const text = home.read('users.jsonl')
    rmSync(path)
    const closed = { file: path, service: `${server.url}/`, rows, sent: rows, unknown }
    expect(counts(expectSuccess(await close('--json')))).to.deep.equal([closed])
    expect((await imports())[0]).to.include({ status: 'ok', hint: null })
    expectFailure(await close(), 2, 'No unfinished import')
    home.write('users.jsonl', text)
    const again = await importing('--json')
    expect(counts(again)).to.include({ unknown, created: 0, already_done: created, requests: 0 })
    await importing('--on-unknown', 'skip', '--line', again.stderr.match(/--line (\d+)/)?.[1] ?? '')
    expect((await imports())[0]?.message).to.contain(`the outcome of ${unknown - 1} rows is unknown`)
  })

  it('sends nothing with --close', async () => {
    expectFailure(await close(), 2, 'No unfinished import')
    for (const flags of [['--restart'], ['--quota', '5/h'], ['--concurrency', '2']])
      expectFailure(await close(...flags), 2, `${flags[0]}`)
    expect(server.requests).to.deep.equal([])
  })
})
