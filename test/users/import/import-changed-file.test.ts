import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

describe('importing a file of users again after it has changed', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let server: Served<UsersHandler>
  let path: string

  async function begin(options: UsersOptions = {}): Promise<void> {
    sandbox = createSandbox()
    // Duplicates are allowed, so that the test notices a user that is created twice.
    server = await serveHandler(new UsersHandler({ allowsDuplicates: true, ...options }))
    path = join(sandbox.home, 'users.csv')
  }
  afterEach(async () => {
    await server.close()
    sandbox.remove()
  })

  const run = (...args: string[]): Promise<Run> =>
    runChatctl(sandbox, ['users', ...args], { service: server, timeout: 50_000 })
  const importing = (...flags: string[]) => run('import', path, '--yes', '--json', ...flags)
  const counts = ({ stdout }: Run) => JSON.parse(stdout)
  const write = (...lines: string[]) => writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  const emails = () => [...server.report().creates].flatMap(([email, { ids }]) => ids.map(() => email)).sort()

  it('creates only the new rows, at any position', async () => {
    await begin()
    write('email,name', 'a@x.org,A', 'c@x.org,C')
    await importing()
    write('email,name', 'a@x.org,A', 'c@x.org,C', 'd@x.org,D')
    expect(counts(await importing('--dry-run'))).to.include({ rows: 3, already_done: 2, creates: 1 })
    const appended = await importing()
    expect(appended.exitCode, appended.stderr).to.equal(0)
    expect(counts(appended)).to.include({ created: 1, already_done: 2 })
    // Another order of columns and other quoting make no difference.
    write('name,email', 'D,d@x.org', 'B,b@x.org', '"C",c@x.org', 'A,a@x.org')
    expect(counts(await importing())).to.include({ created: 1, already_done: 3 })
    expect(emails()).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org', 'd@x.org'])
    expect(counts(await importing())).to.include({ created: 0, already_done: 4 })
  })

  it('ignores a removed row, unless its outcome is unknown', async () => {
    await begin({ fates: { lost: 1 } })
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
    await begin()
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
    await begin({ rejects: (email) => email.startsWith('bad') })
    write('email', 'a@x.org', 'bad@x.org')
    expect((await importing()).exitCode).to.equal(9)
    write('email', 'a@x.org', 'good@x.org')
    expect(counts(await importing())).to.include({ created: 1, already_done: 1 })
    expect(existsSync(join(sandbox.home, 'users.failed.csv'))).to.equal(false)
  })

  it('keeps the rows whose outcome is unknown', async () => {
    await begin({ fates: { lost: 1 } })
    write('email', 'a@x.org')
    expect(counts(await importing())).to.include({ unknown: 1 })
    await server.close()
    server = await serveHandler(new UsersHandler(), { port: Number(new URL(server.url).port) })
    write('email', 'b@x.org', 'a@x.org')
    const grown = await importing()
    expect(counts(grown)).to.include({ created: 1, unknown: 1 })
    expect(grown.stderr).to.contain('--line 3')
    expect(emails()).to.deep.equal(['b@x.org'])
  })

  it('keeps the generated passwords of earlier rows, also if those rows have moved', async () => {
    await begin()
    const to = join(sandbox.home, 'results.csv')
    const flags = ['--generate-passwords', '--results', to]
    const passwords = (): string[] =>
      readFileSync(to, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.replace(/^\d+,/, ''))
    write('email', 'a@x.org', 'b@x.org')
    await importing(...flags)
    const before = passwords()
    write('email', 'c@x.org', 'b@x.org', 'a@x.org')
    expect(await importing(...flags)).to.include({ exitCode: 0 })
    expect(passwords()).to.include.members(before)
    expect(emails()).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org'])
  })
})

describe('updates and assignments in a file', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))

  const run = (...args: string[]): Promise<Run> =>
    runChatctl(sandbox, ['users', ...args, '--yes', '--json'], { service: server, timeout: 50_000 })
  const file = (name: string, text: string): string => {
    const path = join(sandbox.home, name)
    writeFileSync(path, text)
    return path
  }

  it('are sent again by every run after a finished one', async () => {
    const ids = ['a@x.org', 'b@x.org'].map((email) => server.add({ email }))
    const path = file('roles.csv', `id,role\n${ids.map((id) => `${id},editor\n`).join('')}gone,editor\n`)
    for (const night of [1, 2, 3]) {
      const done = await run('permissions', 'assign', '--file', path)
      expect(done.exitCode, done.stderr).to.equal(9)
      expect(JSON.parse(done.stdout)).to.include({ updated: 2, already_done: 0, failed: 1, requests: 3 })
      expect(server.report().assignments.get(ids[0] ?? '')).to.have.length(night)
    }
  })

  it('use one file of failed rows, also if the file changes every day', async () => {
    const id = server.add({ email: 'a@x.org' })
    for (const role of ['editor', 'admin', 'member']) {
      const path = file('roles.csv', `id,role\n${id},${role}\ngone,${role}\n`)
      const done = JSON.parse((await run('permissions', 'assign', '--file', path)).stdout)
      expect(done).to.include({ updated: 1, failed: 1, failed_rows: join(sandbox.home, 'roles.failed.csv') })
    }
    const path = file('roles.csv', `id,role\n${id},editor\n`)
    expect((await run('permissions', 'assign', '--file', path)).exitCode).to.equal(0)
    expect(existsSync(join(sandbox.home, 'roles.failed.csv'))).to.equal(false)
  })

  it('are resumed after an interrupted run', async () => {
    const ids = ['a@x.org', 'b@x.org', 'c@x.org'].map((email) => server.add({ email }))
    const path = file('roles.csv', `id,role\n${ids.map((id) => `${id},editor\n`).join('')}`)
    expect((await run('permissions', 'assign', '--file', path, '--quota', '2/h')).exitCode).to.equal(75)
    const rest = await run('permissions', 'assign', '--file', path)
    expect(JSON.parse(rest.stdout)).to.include({ updated: 1, already_done: 2, requests: 1 })
    expect(rest.stderr).to.contain('2 rows were done by earlier runs')
    const next = await run('permissions', 'assign', '--file', path)
    expect(JSON.parse(next.stdout)).to.include({ updated: 3, already_done: 0, requests: 3 })
  })

  it('are sent again if the file also has new users, who are not created again', async () => {
    const id = server.add({ email: 'old@x.org' })
    const path = file('users.csv', `id,email,role\n${id},,editor\n,new@x.org,editor\n`)
    expect(JSON.parse((await run('import', path)).stdout)).to.include({ created: 1, updated: 1 })
    const again = await run('import', path)
    expect(JSON.parse(again.stdout)).to.include({ created: 0, updated: 1, already_done: 1, requests: 1 })
    // A new role is sent, because the last run has finished.
    file('users.csv', `id,email,role\n${id},,admin\n,new@x.org,editor\n`)
    const edited = await run('import', path)
    expect(JSON.parse(edited.stdout)).to.include({ updated: 1, already_done: 1, requests: 1 })
    expect(server.report().creates.get('new@x.org')?.ids).to.have.length(1)
  })

  it('are unfinished for doctor and --close if a later run was interrupted', async () => {
    const ids = ['a@x.org', 'b@x.org'].map((email) => server.add({ email }))
    const path = file(
      'users.csv',
      `id,email,role\n${ids.map((id) => `${id},,editor\n`).join('')},new@x.org,\n`,
    )
    expect((await run('import', path)).exitCode).to.equal(0)
    // The first run has used three of the four requests.
    expect((await run('import', path, '--quota', '4/h')).exitCode).to.equal(75)
    const closed = await runChatctl(sandbox, ['users', 'import', path, '--close', '--json'], {
      service: server,
    })
    expect(closed.exitCode, closed.stderr).to.equal(0)
    expect(JSON.parse(closed.stdout)[0]).to.include({ file: path, rows: 3, sent: 2, unknown: 0 })
  })
})
