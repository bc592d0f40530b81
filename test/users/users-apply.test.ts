import { existsSync, rmSync, statSync } from 'node:fs'
import { expect } from 'chai'
import { UsersState } from '../../src/users/state/users-state.ts'
import { expectFailure, expectSuccess } from '../support/expect-failure.ts'
import { startChatctl } from '../support/run-chatctl.ts'
import { failing, json } from '../support/scripted-server.ts'
import { printedBy, serveUsers } from './users-run.ts'

type Row = Record<string, unknown> & { email: string }

const ada = { email: 'ada@example.com', name: 'Ada', metadata: { company: 'Acme' } }
const bob = { email: 'bob@example.com', name: 'Bob', role: 'admin', permissions: ['read:chat'] }
const eve = { email: 'eve@example.com' }

describe('users apply', function () {
  this.timeout(30_000)
  const home = serveUsers()
  const { server, sandbox, users, path, read, entries } = home
  const write = (...rows: Row[]) => home.write('users.json', JSON.stringify(rows, null, 1))
  const apply = (...flags: string[]) => {
    server.requests.length = 0
    return users('apply', 'users.json', '--yes', ...flags)
  }
  const create = () => apply('--no-password')
  const created = async (...rows: Row[]) => {
    write(...rows)
    return expectSuccess(await create())
  }
  const idOf = (email: string) => entries().find((entry) => entry.email === email)?.id ?? ''
  const serverUser = (email: string) => server.report().users.get(idOf(email))
  const rename = (name: string) => {
    const user = serverUser(ada.email)
    if (user) user.name = name
  }
  const requests = () =>
    server.requests.map((request) => `${request.method} ${request.path.replace(/usr_\w+/, 'ID')}`)
  const changes = () => requests().filter((request) => request !== 'GET /v1/users/ID')

  it('creates users with everything that the file has, and records them in the state file', async () => {
    const { stdout } = await created(ada, { ...bob, settings: { theme: 'dark' } })
    expect(stdout).to.equal(
      'Done: created 2 users.\nRole and permissions of 1 user were sent. They cannot be read back.\n',
    )
    expect(serverUser('ada@example.com')).to.deep.include(ada)
    expect(serverUser('bob@example.com')).to.deep.include({ name: 'Bob', settings: { theme: 'dark' } })
    const found = server.report().assignments.get(idOf('bob@example.com'))
    expect(found).to.deep.equal([{ permissions: ['read:chat'], role: 'admin' }])
    expect(statSync(path('users.state.json')).mode & 0o777).to.equal(0o600)
  })

  it('makes only reads in a second run, and does not write the state file', async () => {
    await created(ada, bob)
    const file = () => {
      const { ino, mtimeNs } = statSync(path('users.state.json'), { bigint: true })
      return { ino, mtimeNs }
    }
    const before = file()
    expect(await apply()).to.include({ exitCode: 0, stdout: 'No changes.\n' })
    expect(requests()).to.deep.equal(['GET /v1/users/ID', 'GET /v1/users/ID'])
    expect(file()).to.deep.equal(before)
  })

  it('creates one user for a new row, and sends one PATCH for a new name', async () => {
    await created(ada)
    await created(ada, bob)
    expect(changes()).to.deep.equal(['POST /v1/users', 'POST /v1/users/ID/permissions'])
    write({ ...ada, name: 'Ada Lovelace' }, bob)
    expect((await apply()).stdout).to.equal('Done: changed 1 user.\n')
    expect(changes()).to.deep.equal(['PATCH /v1/users/ID'])
    expect(server.report().updates.get(idOf('ada@example.com'))).to.deep.equal([{ name: 'Ada Lovelace' }])
  })

  it('sends all managed keys of the metadata if one differs', async () => {
    await created({ ...ada, metadata: { company: 'Acme', seats: 5 } })
    write({ ...ada, metadata: { company: 'Acme', seats: 6 } })
    await apply()
    const found = server.report().updates.get(idOf('ada@example.com'))
    expect(found).to.deep.equal([{ metadata: { company: 'Acme', seats: 6 } }])
  })

  it('reads nothing with --no-refresh if the files have no change, and only changed users otherwise', async () => {
    await created(ada, bob)
    const run = await apply('--no-refresh')
    expect(run.stdout).to.equal('No changes since the last run. The users were not read.\n')
    expect(run.stderr).to.contain('Compared with users.state.json alone')
    expect(requests()).to.deep.equal([])
    write({ ...ada, name: 'Ada Lovelace' }, bob)
    expectSuccess(await apply('--no-refresh'))
    expect(requests()).to.deep.equal(['GET /v1/users/ID', 'PATCH /v1/users/ID', 'GET /v1/users/ID'])
  })

  it('corrects what someone else has changed, except with --no-refresh', async () => {
    await created(ada)
    rename('Eve')
    expect((await apply('--no-refresh')).stdout).to.contain('No changes')
    expect(printedBy(await apply('--json')).users[0]).to.deep.include({
      ...{ action: 'change', outcome: 'changed' },
      changes: [{ path: 'name', from: 'Eve', to: 'Ada', drifted: true }],
    })
    expect(serverUser('ada@example.com')?.name).to.equal('Ada')
  })

  it('removes the drift that users diff --limit-reads found when it reads the user without drift', async () => {
    await created(ada)
    const diff = async (...flags: string[]) =>
      (await users('diff', 'users.json', '--exit-code', ...flags)).exitCode
    rename('Eve')
    expect(await diff('--limit-reads', '1')).to.equal(10)
    rename('Ada')
    expect(await diff('--no-refresh')).to.equal(10)
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect(await diff('--no-refresh')).to.equal(0)
  })

  it('refuses a user that was changed after the plan was made, and exits 7', async () => {
    await created(ada, bob)
    write({ ...ada, name: 'Ada Lovelace' }, { ...bob, name: 'Robert' })
    const id = idOf('ada@example.com')
    let reads = 0
    server.onRequest = ({ path }) => {
      if (path.endsWith(id) && ++reads === 2) rename('Eve')
    }
    const run = await apply()
    expect(run.exitCode).to.equal(7)
    expect(run.stderr)
      .to.contain(
        'users.json:2: ada@example.com: changed since the comparison: name was "Ada" and is now "Eve"',
      )
      .and.contain('Error: 1 user changed since the comparison')
    const names = ['ada@example.com', 'bob@example.com'].map((email) => serverUser(email)?.name)
    expect(names).to.deep.equal(['Eve', 'Robert'])
  })

  it('reports a missing user with exit code 9, and creates it again only with --recreate-missing', async () => {
    await created(ada)
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
    const flags = ['--results FILE', '--password-command', '--no-password']
    expectFailure(await apply(), 2, 'The 2 new users need passwords. Nothing was sent', ...flags)
    expect(requests()).to.deep.equal([])
    expect(existsSync(path('users.state.json'))).to.equal(false)
  })

  it('writes a generated password before its create, and keeps those of earlier runs', async () => {
    write(ada, bob)
    const before: string[] = []
    server.onRequest = ({ method, path }) => {
      if (method === 'POST' && path === '/v1/users') before.push(read('new.csv'))
    }
    expectSuccess(await apply('--results', 'new.csv', '--concurrency', '1'))
    const ends = 'the run ended before a response arrived'
    expect(before[0]).to.match(new RegExp(`"2","ada@example.com","","unknown","${ends}","\\S{20,}"\n$`))
    const [, password = ''] = /ada.*,created,,(\S+)$/m.exec(read('new.csv')) ?? []
    expect(before[0]).to.contain(password).and.not.to.contain('bob@')
    expect(serverUser('ada@example.com')?.password).to.equal(password)
    const unplaced = () => read('new.csv').replace(/^\d+,/gm, '').split('\n')
    const whole = unplaced()
    // As a run leaves it that is killed after its last request.
    home.write('new.csv', before[1] ?? '')
    expectSuccess(await apply('--results', 'new.csv'))
    expect(unplaced()).to.deep.equal(whole)
    write(ada, bob, eve)
    await apply('--results', 'new.csv')
    expect(unplaced()).to.include.members(whole).and.have.length(5)
    expect(statSync(path('new.csv')).mode & 0o777).to.equal(0o600)
  })

  it('names no generated password of a user who was not created', async () => {
    await home.serve({ rejects: (email) => email.startsWith('refused') })
    write(ada, { email: 'refused@example.com' })
    expect((await apply('--results', 'new.csv')).exitCode).to.equal(9)
    expect(read('new.csv'))
      .to.match(/^\d+,ada@example.com,\w+,created,,\S+$/m)
      .and.match(/,failed,.*,$/m)
  })

  it('does not replace a file that is not a results file', async () => {
    write(ada)
    home.write('new.csv', 'email,name\nada@example.com,Ada\n')
    expectFailure(await apply('--results', 'new.csv'), 2, 'new.csv exists and is not a results file')
    expect(requests()).to.deep.equal([])
    expect(read('new.csv')).to.contain('email,name')
    expect(existsSync(path('new.csv.lock'))).to.equal(false)
  })

  it('gets passwords from a command that knows the email', async () => {
    write(ada, bob)
    expectSuccess(await apply('--password-command', 'printenv CHATCTL_EMAIL'))
    expect(serverUser('bob@example.com')?.password).to.equal('bob@example.com')
    write(ada, bob, eve)
    const failed = await apply('--password-command', 'false')
    expect(failed.stderr).to.contain('The password command for "eve@example.com" exited with code 1')
    expect(changes()).to.deep.equal([])
    expect(entries()).to.have.length(2)
  })

  it('needs a confirmation, and holds the lock of the state file', async () => {
    write(ada)
    expectFailure(await users('apply', 'users.json', '--no-password'), 3, '--yes')
    const state = await UsersState.open(path('users.state.json'), { service: server.url, access: 'write' })
    expectFailure(await create(), 7, 'Another chatctl process is using users.state.json')
    await state.close()
    await created(ada)
    expect(entries()).to.have.length(1)
  })

  it('counts the requests of a dry run, and shows the first ones without passwords', async () => {
    await created(ada)
    write({ ...ada, name: 'Ada Lovelace' }, { ...bob, settings: { theme: 'dark' } }, eve)
    const url = `${server.url}/v1/users`
    const shown = printedBy(await apply('--dry-run', '--json', '--results', 'new.csv'))
    expect(shown).to.deep.include({ requests: 5 })
    const second = { email: 'bob@example.com', name: 'Bob', password: '<generated>' }
    const settings = { theme: 'dark' }
    const file = 'users.json'
    expect(shown.first_requests).to.deep.equal([
      { file, line: 2, method: 'PATCH', url: `${url}/${idOf(ada.email)}`, body: { name: 'Ada Lovelace' } },
      { file, line: 9, method: 'POST', url, body: second },
      { file, line: 9, method: 'PATCH', url: `${url}/{id}`, body: { settings } },
    ])
    const { stdout, stderr } = await apply('--dry-run')
    expect(stdout).not.to.contain('PATCH')
    expect(stderr).to.match(/The first 3 of 5 requests:\n+PATCH .+ \(users\.json:2\)\n/)
    expect(existsSync(path('new.csv'))).to.equal(false)
  })

  it('exits 9 if a dry run cannot read a user', async () => {
    await created(ada)
    await server.serve(failing(500, 'internal', 'Broken'))
    const run = await apply('--dry-run', '--retries', '0')
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain('Error: 1 user could not be compared')
  })

  it('does not suggest another create for a user who exists without a known ID', async () => {
    await home.serve({ idIn: ['nowhere'] })
    write(ada)
    const first = await create()
    expect(first.exitCode).to.equal(9)
    expect(first.stderr).to.contain('ada@example.com: created, but the response has no ID')
    expect((await create()).stderr)
      .to.contain('ada@example.com: the user exists, but its ID is not known')
      .and.contain('chatctl users adopt ada@example.com=ID')
      .and.not.contain('--retry-unknown')
    const { stdout } = await users('diff', 'users.json')
    expect(stdout).to.contain('the user exists, but its ID is not known')
  })

  it('says that a user was created whose other changes failed', async () => {
    await server.serve({
      choose: ({ path }) =>
        path === '/v1/users' ? json(201, { id: 7 }) : failing(500, 'internal', 'Broken'),
    })
    write({ email: 'bob@example.com', role: 'admin' })
    const run = await apply('--results', 'new.csv')
    expect([run.exitCode, run.stdout]).to.deep.equal([9, 'Done: created 1 user.\n'])
    const words = 'created, but the outcome of a change is unknown: 500: Broken'
    expect(run.stderr).to.contain(`users.json:2: bob@example.com: ${words}`)
    expect(read('new.csv')).to.match(/^2,bob@example.com,7,created,.*Broken.*,\S{20,}$/m)
    expect(entries()).to.deep.equal([{ email: 'bob@example.com', id: '7', hashes: {} }])
  })

  it('does not create a user again whose row was removed and added again', async () => {
    await created(ada, bob)
    write(ada)
    const found = printedBy(await apply('--json')).unmanaged
    expect(found).to.deep.equal([{ email: 'bob@example.com', id: idOf('bob@example.com') }])
    write(ada, bob)
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect(changes()).to.deep.equal([])
  })

  it('counts the requests of all runs in --quota', async () => {
    await created(ada, bob)
    server.requests.length = 0
    const limited = ['--quota', '7/h', '--max-wait', '0s', '--concurrency', '1']
    const codes: (number | null)[] = []
    for (const words of [['diff'], ['diff'], ['apply', '--yes'], ['diff']])
      codes.push((await users(...words, 'users.json', ...limited)).exitCode)
    expect({ codes, requests: requests().length }).to.deep.equal({ codes: [0, 0, 0, 75], requests: 7 })
    home.write('more.csv', 'email\neve@example.com\n')
    expect((await users('import', 'more.csv', '--yes', ...limited)).exitCode).to.equal(75)
    expect(requests()).to.have.length(7)
  })

  it('exits 130 after Ctrl-C, records the users that were created, and resumes', async () => {
    write(...Array.from({ length: 30 }, (_, index) => ({ email: `u${index}@example.com` })))
    const words = ['users', 'apply', 'users.json', '--yes', '--no-password']
    const running = startChatctl(sandbox, words, { service: server })
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
    expect((await create()).stdout).to.equal(`Done: created ${30 - size} users.\n`)
  })

  describe('with a saved plan', () => {
    const applyPlan = (...flags: string[]) => users('apply', 'users.plan', '--yes', '--no-password', ...flags)
    const plan = async (...rows: Row[]) => {
      write(...rows)
      expectSuccess(await users('diff', 'users.json', '--save', 'users.plan'))
    }
    const names = () => [...server.report().users.values()].map(({ name }) => name)
    const ada = { email: 'ada@example.com', name: 'Ada', role: 'admin' }
    const bob = { email: 'bob@example.com', name: 'Bob' }

    it('sends what the plan has, also if the files have changed since, and only once', async () => {
      await plan(ada)
      write({ ...ada, name: 'Eve' }, bob)
      const done = await applyPlan()
      expect(done.stdout, done.stderr).to.match(/^Done: created 1 user\.\n/)
      expect(names()).to.deep.equal(['Ada'])
      expectFailure(await applyPlan(), 7, 'The plan users.plan was already applied', '--save PLAN')
      expect(names()).to.deep.equal(['Ada'])
      expect(entries()).to.have.length(1)
    })

    it('can still apply a plan if nothing was sent because the service was not reachable', async () => {
      await created(bob)
      await plan({ ...bob, name: 'Robert' })
      await server.close()
      expectFailure(await applyPlan('--retries', '0'), 69, 'Cannot reach')
      await server.open()
      expect((await applyPlan()).stdout).to.equal('Done: changed 1 user.\n')
    })

    it('refuses a plan whose state file has changed since, and the users whose entries changed in the same generation', async () => {
      await created(ada, bob)
      await plan({ ...ada, role: 'member' }, { ...bob, name: 'Robert' }, eve)
      await created({ ...ada, role: 'editor' }, bob, eve)
      expectFailure(await applyPlan(), 7, 'users.plan was saved (serial 1, now 2)', '--state')
      // As after a killed run, whose changes are in the state journal.
      home.write('users.state.json', read('users.state.json').replace('"serial":2', '"serial":1'))
      const done = await applyPlan()
      expect([done.exitCode, done.stdout]).to.deep.equal([7, 'Done: changed 1 user.\n'])
      expect(done.stderr)
        .to.contain('ada@example.com: changed since the comparison: the last sent value of role has changed')
        .and.match(/eve@example\.com: .* contains this user with the id/)
      expect(names()).to.include('Robert')
    })

    it('creates no user if the state file of the plan is missing, or is an earlier one', async () => {
      await created(ada)
      const earlier = read('users.state.json')
      await created(ada, bob)
      await plan(ada, bob, eve)
      for (const name of ['users.state.json', 'users.state.json.backup']) rmSync(path(name))
      const words = [
        'The plan users.plan was made with the state file users.state.json, which',
        'does not exist',
      ]
      expectFailure(await applyPlan(), 7, ...words)
      home.write('users.state.json', earlier)
      const older = 'The state file users.state.json has changed since the plan'
      expectFailure(await applyPlan(), 7, older, '--state')
      expect(server.report().users.size).to.equal(2)
    })

    it('refuses a plan of another service, and a changed plan', async () => {
      await plan(ada)
      const words = ['users', 'apply', 'users.plan', '--yes', '--no-password']
      const other = await home.chatctl(words, { service: { url: 'http://127.0.0.1:1' } })
      expectFailure(other, 7, 'The plan users.plan is for', 'not for http://127.0.0.1:1/')
      home.write('users.plan', read('users.plan').replace('Ada', 'Eve'))
      expectFailure(await applyPlan(), 2, 'users.plan was changed or truncated')
      expect(names()).to.deep.equal([])
    })

    it('shows the plan with --dry-run, and can then be applied', async () => {
      await plan(ada)
      expect((await users('apply', 'users.plan', '--yes', '--dry-run')).stdout).to.contain(
        `+ create ${ada.email}`,
      )
      expect(existsSync(path('users.state.json'))).to.equal(false)
      expectSuccess(await applyPlan())
    })
  })

  describe('after a lost response to a create', () => {
    const creates = () => server.report().creates.get('ada@example.com')?.met
    const fails = async (...flags: string[]) => {
      const run = await apply('--no-password', ...flags)
      expect(run.exitCode).to.equal(9)
      return run.stderr
    }
    beforeEach(async () => {
      server.fates = { lost: 1 }
      write({ email: 'ada@example.com' })
      const words = 'users.json:2: ada@example.com: the outcome of the creation is unknown: '
      expect(await fails()).to.contain(words)
      server.endFates()
    })

    it('does not send it again, and the command that it prints records the user', async () => {
      const again = await fails()
      expect(creates()).to.deep.equal(['lost'])
      const [, adopt = ''] = /chatctl users (adopt ada@example\.com=)ID/.exec(again) ?? []
      const words = `${adopt}${home.idOf()} --state users.state.json`
      expectSuccess(await users(...words.split(' ')))
      expect((await apply()).stdout).to.equal('No changes.\n')
    })

    it('sends it again with --retry-unknown, and reports a 409', async () => {
      const taken = await fails('--retry-unknown')
      expect(taken).to.contain('409: ').and.contain('chatctl users adopt ada@example.com=ID')
      expect(creates()).to.deep.equal(['lost', 409])
      await fails('--retry-unknown')
      expect(creates()).to.deep.equal(['lost', 409])
    })
  })
})
