import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UsersState } from '../../src/users/state/users-state.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { type HostOptions, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { failing, json, serveHandler, startScriptedServer } from '../support/scripted-server.ts'

type Row = Record<string, unknown> & { email: string }

const ada = { email: 'ada@example.com', name: 'Ada', metadata: { company: 'Acme' } }
const bob = { email: 'bob@example.com', name: 'Bob', role: 'admin', permissions: ['read:chat'] }

describe('users apply', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))
  let requests: string[]

  beforeEach(() => {
    requests = []
    server.onRequest = ({ method, path }) => void requests.push(`${method} ${path.replace(/usr_\w+/, 'ID')}`)
  })

  const path = (name: string) => join(sandbox.home, name)
  const read = (name: string) => readFileSync(path(name), 'utf8')
  const write = (...rows: Row[]) => writeFileSync(path('users.json'), JSON.stringify(rows, null, 1))
  const options = (more: HostOptions = {}): HostOptions => ({ ...more, service: server })
  const apply = async (...flags: string[]) => {
    requests.length = 0
    return runChatctl(sandbox, ['users', 'apply', 'users.json', '--yes', ...flags], options())
  }
  const created = () => apply('--no-password')
  const entries = (): { email: string; id?: string }[] => JSON.parse(read('users.state.json')).users
  const idOf = (email: string) => entries().find((entry) => entry.email === email)?.id ?? ''
  const serverUser = (email: string) => server.report().users.get(idOf(email))
  const requestsBut = (...reads: string[]) => requests.filter((request) => !reads.includes(request))
  const changes = () => requestsBut('GET /v1/users/ID')

  it('creates users with everything that the file has, and records them in the state file', async () => {
    write(ada, { ...bob, settings: { theme: 'dark' } })
    const run = await created()
    expect(run, run.stderr).to.include({ exitCode: 0 })
    expect(run.stdout).to.equal(
      'Done: created 2 users.\nRole and permissions of 1 user were sent. They cannot be read back.\n',
    )
    expect(serverUser('ada@example.com')).to.deep.include(ada)
    expect(serverUser('bob@example.com')).to.deep.include({ name: 'Bob', settings: { theme: 'dark' } })
    const found = server.report().assignments.get(idOf('bob@example.com'))
    expect(found).to.deep.equal([{ permissions: ['read:chat'], role: 'admin' }])
    expect(statSync(path('users.state.json')).mode & 0o777).to.equal(0o600)
  })

  it('makes only reads in a second run, and does not write the state file', async () => {
    write(ada, bob)
    await created()
    const before = statSync(path('users.state.json'), { bigint: true })
    expect(await apply()).to.include({ exitCode: 0, stdout: 'No changes.\n' })
    expect(requests).to.deep.equal(['GET /v1/users/ID', 'GET /v1/users/ID'])
    const { ino, mtimeNs } = statSync(path('users.state.json'), { bigint: true })
    expect({ ino, mtimeNs }).to.deep.equal({ ino: before.ino, mtimeNs: before.mtimeNs })
  })

  it('creates one user for a new row, and sends one PATCH for a new name', async () => {
    write(ada)
    await created()
    write(ada, bob)
    expect((await created()).exitCode).to.equal(0)
    expect(changes()).to.deep.equal(['POST /v1/users', 'POST /v1/users/ID/permissions'])
    write({ ...ada, name: 'Ada Lovelace' }, bob)
    expect((await apply()).stdout).to.equal('Done: changed 1 user.\n')
    expect(changes()).to.deep.equal(['PATCH /v1/users/ID'])
    expect(server.report().updates.get(idOf('ada@example.com'))).to.deep.equal([{ name: 'Ada Lovelace' }])
  })

  it('sends all managed keys of the metadata if one differs', async () => {
    write({ ...ada, metadata: { company: 'Acme', seats: 5 } })
    await created()
    write({ ...ada, metadata: { company: 'Acme', seats: 6 } })
    await apply()
    const found = server.report().updates.get(idOf('ada@example.com'))
    expect(found).to.deep.equal([{ metadata: { company: 'Acme', seats: 6 } }])
  })

  it('reads nothing with --no-refresh if the files have no change, and only changed users otherwise', async () => {
    write(ada, bob)
    await created()
    const run = await apply('--no-refresh')
    expect(run.stdout).to.equal('No changes since the last run. The users were not read.\n')
    expect(requests).to.deep.equal([])
    write({ ...ada, name: 'Ada Lovelace' }, bob)
    expect((await apply('--no-refresh')).exitCode).to.equal(0)
    expect(requests).to.deep.equal(['GET /v1/users/ID', 'PATCH /v1/users/ID', 'GET /v1/users/ID'])
  })

  it('corrects what someone else has changed, except with --no-refresh', async () => {
    write(ada)
    await created()
    const user = serverUser('ada@example.com')
    if (user) user.name = 'Eve'
    expect((await apply('--no-refresh')).stdout).to.contain('No changes')
    expect(JSON.parse((await apply('--json')).stdout).users[0]).to.deep.include({
      action: 'change',
      outcome: 'changed',
      changes: [{ path: 'name', from: 'Eve', to: 'Ada', drifted: true }],
    })
    expect(serverUser('ada@example.com')?.name).to.equal('Ada')
  })

  it('removes the drift that users diff --limit-reads found when it reads the user without drift', async () => {
    write(ada)
    await created()
    const diff = (...flags: string[]) =>
      runChatctl(sandbox, ['users', 'diff', 'users.json', '--exit-code', ...flags], options())
    const user = serverUser('ada@example.com')
    if (user) user.name = 'Eve'
    expect((await diff('--limit-reads', '1')).exitCode).to.equal(10)
    if (user) user.name = 'Ada'
    expect((await diff('--no-refresh')).exitCode).to.equal(10)
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect((await diff('--no-refresh')).exitCode).to.equal(0)
  })

  it('refuses a user that was changed after the plan was made, and exits 7', async () => {
    write(ada, bob)
    await created()
    write({ ...ada, name: 'Ada Lovelace' }, { ...bob, name: 'Robert' })
    const id = idOf('ada@example.com')
    let reads = 0
    server.onRequest = ({ path }) => {
      const user = server.report().users.get(id)
      if (path.endsWith(id) && ++reads === 2 && user) user.name = 'Eve'
    }
    const run = await apply()
    expect(run.exitCode).to.equal(7)
    expect(run.stderr).to.contain(
      'users.json:2: ada@example.com: changed since the comparison: name was "Ada" and is now "Eve"',
    )
    expect(run.stderr).to.contain('Error: 1 user changed since the comparison')
    expect([serverUser('ada@example.com')?.name, serverUser('bob@example.com')?.name]).to.deep.equal([
      'Eve',
      'Robert',
    ])
  })

  it('reports a missing user with exit code 9, and creates it again only with --recreate-missing', async () => {
    write(ada)
    await created()
    const old = idOf('ada@example.com')
    server.remove(old)
    const run = await apply()
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain('users.json:2: ada@example.com: the service no longer has this user (404)')
    expect(changes()).to.deep.equal([])
    expect((await apply('--recreate-missing', '--no-password')).stdout).to.equal('Done: created 1 user.\n')
    expect(changes()).to.deep.equal(['POST /v1/users'])
    expect(idOf('ada@example.com')).not.to.equal(old)
    expect(entries()).to.have.length(1)
  })

  it('ends before anything is sent if new users need a password', async () => {
    write(ada, bob)
    expectFailure(
      await apply(),
      2,
      'The 2 new users need passwords. Nothing was sent',
      '--results FILE',
      '--password-command',
      '--no-password',
    )
    expect(requests).to.deep.equal([])
    expect(existsSync(path('users.state.json'))).to.equal(false)
  })

  it('writes a generated password before its create, and keeps those of earlier runs', async () => {
    write(ada, bob)
    const before: string[] = []
    server.onRequest = ({ method, path }) => {
      if (method === 'POST' && path === '/v1/users') before.push(read('new.csv'))
    }
    expect((await apply('--results', 'new.csv', '--concurrency', '1')).exitCode).to.equal(0)
    const ends = 'the run ended before a response arrived'
    expect(before[0]).to.match(new RegExp(`"2","ada@example.com","","unknown","${ends}","\\S{20,}"\n$`))
    const [, password = ''] = /ada.*,created,,(\S+)$/m.exec(read('new.csv')) ?? []
    expect(before[0]).to.contain(password).and.not.to.contain('bob@')
    expect(serverUser('ada@example.com')?.password).to.equal(password)
    const whole = read('new.csv')
    // As a run leaves it that is killed after its last request.
    writeFileSync(path('new.csv'), before[1] ?? '')
    expect((await apply('--results', 'new.csv')).exitCode).to.equal(0)
    const unplaced = (text: string) => text.replace(/^\d+,/gm, '').split('\n')
    expect(unplaced(read('new.csv'))).to.deep.equal(unplaced(whole))
    write(ada, bob, { email: 'eve@example.com' })
    await apply('--results', 'new.csv')
    expect(unplaced(read('new.csv')))
      .to.include.members(unplaced(whole))
      .and.have.length(5)
    expect(statSync(path('new.csv')).mode & 0o777).to.equal(0o600)
  })

  it('names no generated password of a user who was not created', async () => {
    write(ada, { email: 'refused@example.com' })
    const rejecting = new UsersHandler({ rejects: (email) => email.startsWith('refused') })
    await using other = await serveHandler(rejecting)
    const line = ['users', 'apply', 'users.json', '--yes', '--results', 'new.csv']
    expect((await runChatctl(sandbox, line, { service: other })).exitCode).to.equal(9)
    expect(read('new.csv'))
      .to.match(/^\d+,ada@example.com,\w+,created,,\S+$/m)
      .and.match(/,failed,.*,$/m)
  })

  it('does not replace a file that is not a results file', async () => {
    write(ada)
    writeFileSync(path('new.csv'), 'email,name\nada@example.com,Ada\n')
    expectFailure(await apply('--results', 'new.csv'), 2, 'new.csv exists and is not a results file')
    expect(requests).to.deep.equal([])
    expect(read('new.csv')).to.contain('email,name')
    expect(existsSync(path('new.csv.lock'))).to.equal(false)
  })

  it('gets passwords from a command that knows the email', async () => {
    write(ada, bob)
    expect(await apply('--password-command', 'printenv CHATCTL_EMAIL')).to.include({ exitCode: 0 })
    expect(serverUser('bob@example.com')?.password).to.equal('bob@example.com')
    write(ada, bob, { email: 'eve@example.com' })
    const failed = await apply('--password-command', 'false')
    expect(failed.stderr).to.contain('The password command for "eve@example.com" exited with code 1')
    expect(changes()).to.deep.equal([])
    expect(entries()).to.have.length(2)
  })

  it('needs a confirmation, and holds the lock of the state file', async () => {
    write(ada)
    const command = ['users', 'apply', 'users.json', '--no-password']
    expectFailure(await runChatctl(sandbox, command, options()), 3, '--yes')
    const state = await UsersState.open(path('users.state.json'), { service: server.url, access: 'write' })
    expectFailure(await apply('--no-password'), 7, 'Another chatctl process is using users.state.json')
    await state.close()
    expect((await created()).exitCode).to.equal(0)
    expect(entries()).to.have.length(1)
  })

  it('counts the requests of a dry run, and shows the first ones without passwords', async () => {
    write(ada)
    await created()
    write(
      { ...ada, name: 'Ada Lovelace' },
      { ...bob, settings: { theme: 'dark' } },
      { email: 'eve@example.com' },
    )
    const id = idOf('ada@example.com')
    const shown = JSON.parse((await apply('--dry-run', '--json', '--results', 'new.csv')).stdout)
    expect(shown).to.deep.include({ requests: 5 })
    expect(shown.first_requests).to.deep.equal([
      {
        file: 'users.json',
        line: 2,
        method: 'PATCH',
        url: `${server.url}/v1/users/${id}`,
        body: { name: 'Ada Lovelace' },
      },
      {
        file: 'users.json',
        line: 9,
        method: 'POST',
        url: `${server.url}/v1/users`,
        body: { email: 'bob@example.com', name: 'Bob', password: '<generated>' },
      },
      {
        file: 'users.json',
        line: 9,
        method: 'PATCH',
        url: `${server.url}/v1/users/{id}`,
        body: { settings: { theme: 'dark' } },
      },
    ])
    const { stdout, stderr } = await apply('--dry-run')
    expect(stdout).not.to.contain('PATCH')
    expect(stderr).to.match(/The first 3 of 5 requests:\n+PATCH .+ \(users\.json:2\)\n/)
    expect(existsSync(path('new.csv'))).to.equal(false)
  })

  it('exits 9 if a dry run cannot read a user', async () => {
    write(ada)
    await created()
    await server.serve(failing(500, 'internal', 'Broken'))
    const run = await apply('--dry-run', '--retries', '0')
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain('Error: 1 user could not be compared')
  })

  it('says which users are new without a state file, and that --no-refresh sees no other changes', async () => {
    write(ada)
    const words = 'There is no state file users.state.json yet, so every user is new that was not created'
    expect((await created()).stderr).to.contain(words)
    expect((await apply()).stderr).to.equal('')
    expect((await apply('--no-refresh')).stderr).to.contain('Compared with users.state.json alone')
  })

  it('does not suggest another create for a user who exists without a known ID', async () => {
    await using nameless = await serveHandler(new UsersHandler({ idIn: ['nowhere'] }))
    const env = { CHATCTL_BASE_URL: nameless.url }
    const command = ['users', 'apply', 'users.json', '--no-password', '--yes']
    write(ada)
    const first = await runChatctl(sandbox, command, options({ env }))
    expect(first.exitCode).to.equal(9)
    expect(first.stderr).to.contain('ada@example.com: created, but the response has no ID')
    const next = await runChatctl(sandbox, command, options({ env }))
    expect(next.stderr).to.contain('ada@example.com: the user exists, but its ID is not known')
    expect(next.stderr).to.contain('chatctl users adopt ada@example.com=ID')
    expect(next.stderr).not.to.contain('--retry-unknown')
    const diff = await runChatctl(sandbox, ['users', 'diff', 'users.json'], options({ env }))
    expect(diff.stdout).to.contain('the user exists, but its ID is not known')
  })

  it('says that a user was created whose other changes failed', async () => {
    await using broken = await startScriptedServer({
      choose: ({ path }) =>
        path === '/v1/users' ? json(201, { id: 7 }) : failing(500, 'internal', 'Broken'),
    })
    write({ email: 'bob@example.com', role: 'admin' })
    const command = ['users', 'apply', 'users.json', '--results', 'new.csv', '--yes']
    const run = await runChatctl(sandbox, command, options({ env: { CHATCTL_BASE_URL: broken.url } }))
    expect([run.exitCode, run.stdout]).to.deep.equal([9, 'Done: created 1 user.\n'])
    expect(run.stderr).to.contain(
      'users.json:2: bob@example.com: created, but the outcome of a change is unknown: 500: Broken',
    )
    expect(read('new.csv')).to.match(/^2,bob@example.com,7,created,.*Broken.*,\S{20,}$/m)
    expect(entries()).to.deep.equal([{ email: 'bob@example.com', id: '7', hashes: {} }])
  })

  it('does not create a user again whose row was removed and added again', async () => {
    write(ada, bob)
    await created()
    write(ada)
    const found = JSON.parse((await apply('--json')).stdout).unmanaged
    expect(found).to.deep.equal([{ email: 'bob@example.com', id: idOf('bob@example.com') }])
    write(ada, bob)
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect(changes()).to.deep.equal([])
  })

  it('counts the requests of all runs in --quota', async () => {
    write(ada, bob)
    await created()
    requests.length = 0
    const limited = ['--quota', '7/h', '--max-wait', '0s', '--concurrency', '1']
    const run = (...words: string[]) => runChatctl(sandbox, [...words, ...limited], options())
    const codes: (number | null)[] = []
    for (const command of ['diff', 'diff', 'apply', 'diff']) {
      const yes = command === 'apply' ? ['--yes'] : []
      codes.push((await run('users', command, 'users.json', ...yes)).exitCode)
    }
    expect({ codes, requests: requests.length }).to.deep.equal({ codes: [0, 0, 0, 75], requests: 7 })
    writeFileSync(path('more.csv'), 'email\neve@example.com\n')
    expect((await run('users', 'import', 'more.csv', '--yes')).exitCode).to.equal(75)
    expect(requests).to.have.length(7)
  })

  it('exits 130 after Ctrl-C, records the users that were created, and resumes', async () => {
    write(...Array.from({ length: 30 }, (_, index) => ({ email: `u${index}@example.com` })))
    const running = startChatctl(
      sandbox,
      ['users', 'apply', 'users.json', '--yes', '--no-password'],
      options(),
    )
    running.stdin.end()
    server.onRequest = () => {
      if (server.report().users.size >= 10) running.interrupt()
    }
    const run = await running.ended
    expect(run.exitCode, run.stderr).to.equal(130)
    expect(run.stderr).to.match(/\d+ created, 0 changed, \d+ left\. To resume, run the same command\./)
    const { size } = server.report().users
    expect(size).to.be.within(10, 29)
    expect(entries().filter(({ id }) => id !== undefined)).to.have.length(size)
    server.onRequest = undefined
    expect((await created()).stdout).to.equal(`Done: created ${30 - size} users.\n`)
  })
})
