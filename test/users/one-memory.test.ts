import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { expect } from 'chai'
import { idOfCreated } from '../../src/client/response/response.ts'
import { hashOfField } from '../../src/contract/managed-fields.ts'
import { hurriedClock } from '../client/capture.ts'
import { expectFailure, expectSuccess } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import {
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  reset,
  startScriptedServer,
} from '../support/scripted-server.ts'
import { printedBy, runAgainst, serveUsers } from './users-run.ts'

const ada = 'ada@example.com'
const done = async (run: Promise<Run>): Promise<void> => void expectSuccess(await run)

describe('what another command has sent', function () {
  this.timeout(30_000)
  const home = serveUsers({ allowsDuplicates: true })
  const { server, sandbox, users, chatctl, path, write, idOf } = home
  const apply = (...flags: string[]) => users('apply', 'users.csv', '--yes', '--no-password', ...flags)
  const diff = () => users('diff', 'users.csv', '--exit-code')
  const changes = async () => printedBy(await users('diff', 'users.csv', '--json')).users[0].changes
  const roles = () => (server.report().assignments.get(idOf()) ?? []).map(({ role }) => role)
  const writeRole = (role: string) => write('users.csv', `email,name,role\n${ada},Ada,${role}\n`)
  const assign = () => done(users('permissions', 'assign', idOf(), '--role', 'admin'))

  /** Applies the file on another machine, which shares the state file. */
  const applyElsewhere = () =>
    done(chatctl(['users', 'apply', 'users.csv', '--yes'], { env: { XDG_STATE_HOME: path('elsewhere') } }))
  const importText = (text: string) => {
    write('import.csv', text)
    return done(users('import', 'import.csv', '--yes'))
  }
  const post = (at: string, base = '') => {
    const env = { CHATCTL_BASE_URL: server.url + base }
    const words = ['api', 'POST', `${at}/${idOf()}/permissions`, '--data', '{"role":"admin"}']
    return done(chatctl(words, { env }))
  }

  /** The other commands, each of which makes the user an admin. */
  const others: Record<string, () => Promise<void>> = {
    'users permissions assign': assign,
    'users permissions assign --file': () => {
      write('roles.csv', `id,role\n${idOf()},admin\n`)
      return done(users('permissions', 'assign', '--file', 'roles.csv', '--yes'))
    },
    'users import by ID': () => importText(`id,role\n${idOf()},admin\n`),
    'users import by email': () => importText(`email,role\n${ada},admin\n`),
    api: () => post('/v1/users'),
    'api below a base URL with /v1': () => post('/users', '/v1'),
    'an older generation of the state file': async () => {
      const before = home.read('users.state.json')
      writeRole('admin')
      await done(apply())
      writeRole('staff')
      write('users.state.json', before)
    },
  }
  for (const [name, change] of Object.entries(others))
    it(`is a difference that users apply sends: ${name}`, async () => {
      writeRole('staff')
      await done(apply())
      await change()
      const found = await diff()
      expect(found.stdout + found.stderr).to.match(/role {2}.*"staff"/)
      expect(found.exitCode).to.equal(10)
      await done(apply())
      expect(roles()).to.deep.equal(['staff', 'admin', 'staff'])
      await done(diff())
    })

  it('was not changed by someone else', async () => {
    write('users.csv', `email,name\n${ada},Ada\n`)
    await done(apply())
    await done(users('update', idOf(), '--name', 'Eve'))
    expect(await changes()).to.deep.equal([{ path: 'name', from: 'Eve', to: 'Ada' }])
  })

  it('is known if the state file is named in another way', async () => {
    write('users.csv', `email,role\n${ada},staff\n`)
    symlinkSync(sandbox.home, path('link'))
    await done(apply('--state', 'link/users.state.json'))
    await assign()
    expect((await changes())[0]).to.include({ path: 'role', compared_with: 'last_sent' })
  })

  it('loses against a generation of the state file that another machine wrote', async () => {
    writeRole('staff')
    await done(apply())
    writeRole('admin')
    await applyElsewhere()
    await done(diff())
    expect(roles()).to.deep.equal(['staff', 'admin'])
    // Also if Git restores that generation later.
    const before = home.read('users.state.json')
    writeRole('staff')
    await done(apply())
    write('users.state.json', before)
    writeRole('admin')
    expect(await diff()).to.include({ exitCode: 10 })
  })

  it('is not known if both have changed a field', async () => {
    writeRole('staff')
    await done(apply())
    writeRole('editor')
    await applyElsewhere()
    await assign()
    const unknown = { path: 'role', from: null, to: 'editor', compared_with: 'unknown' }
    expect(await changes()).to.deep.equal([unknown])
    await done(apply())
    expect(roles()).to.deep.equal(['staff', 'editor', 'admin', 'editor'])
  })

  it('is in no generation of the state file if it was sent while the file was first written', async () => {
    write('users.csv', `email,role\n${ada},editor\nbob@example.com,editor\n`)
    let assigning: Promise<void> | undefined
    server.onRequest = ({ method, path: at, body }) => {
      if (method === 'POST' && at === '/v1/users' && body.includes('bob')) assigning ??= assign()
    }
    await done(apply('--concurrency', '1'))
    await assigning
    expect(await diff()).to.include({ exitCode: 10 })
  })

  it('is as old as the last attempt after a 429', async () => {
    write('users.csv', `email,role\n${ada},staff\n`)
    await done(apply())
    write('import.csv', `id,role\n${idOf()},editor\n`)
    let assigning: Promise<void> | undefined
    let isAssigned = false
    const { choose } = server
    server.choose = (request) => {
      if (!request.path.endsWith('/permissions') || !request.body.includes('editor') || isAssigned)
        return choose(request)
      assigning ??= assign().then(() => {
        isAssigned = true
      })
      return limited({ 'retry-after': '0' })
    }
    const words = ['users', 'import', 'import.csv', '--yes', '--max-wait', '12h']
    await done(chatctl(words, { host: { clock: hurriedClock() } }))
    await assigning
    write('users.csv', `email,role\n${ada},${roles().at(-1)}\n`)
    await done(diff())
  })

  it('is not what the service shows, in each run', async () => {
    write('users.csv', `email,permissions\n${ada},read:chat;write:chat\n`)
    await done(apply())
    const shown = json(200, { permissions: ['read:chat', 'write:chat'] })
    server.faults.set(`/v1/users/${idOf()}/permissions`, shown)
    write('users.csv', `email,permissions\n${ada},read:chat\n`)
    for (let run = 0; run < 2; run++)
      expect([(await apply()).exitCode, (await diff()).exitCode]).to.deep.equal([7, 10])
  })

  it('is a user of whom an earlier one no longer exists', async () => {
    const create = () => done(users('create', '--email', ada, '--no-password'))
    await create()
    server.remove(idOf())
    await create()
    write('users.csv', `email,role\n${ada},admin\n`)
    await done(apply())
    expect(roles()).to.deep.equal(['admin'])
  })

  it('decides whether a row of an import is done', async () => {
    for (const [month, role] of Object.entries({ jan: 'staff', feb: 'admin', mar: 'staff', apr: 'staff' })) {
      write(`${month}.csv`, `email,role\n${ada},${role}\n`)
      await done(users('import', `${month}.csv`, '--yes'))
    }
    expect(roles()).to.deep.equal(['staff', 'admin', 'staff'])
  })
})

describe('users import --state', function () {
  this.timeout(30_000)
  const home = serveUsers({ allowsDuplicates: true })
  const { server, users, idOf } = home
  const write = (text: string) => home.write('users.csv', text)
  const importFile = (...flags: string[]) =>
    users('import', 'users.csv', '--yes', '--state', 'users.state.json', ...flags)
  const creates = () => server.report().creates.get(ada)?.ids.length ?? 0
  const roleRow = `email,role\n${ada},admin\n`

  it('does not create a user whom the state file has', async () => {
    const id = server.add({ email: ada })
    await done(users('adopt', `${ada}=${id}`))
    rmSync(home.path('.local/state'), { recursive: true, force: true })
    write(roleRow)
    await done(importFile())
    expect(creates()).to.equal(0)
    expect(server.report().assignments.get(id)).to.deep.equal([{ role: 'admin' }])
  })

  it('sends nothing for an email with two users until their ID is given', async () => {
    for (let count = 0; count < 2; count++)
      await users('create', '--email', ada, '--no-password', '--allow-duplicates')
    const [first = '', second = ''] = server.report().creates.get(ada)?.ids ?? []
    write(roleRow)
    const run = await importFile()
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain(`"${second}" and "${first}"`)
    expect(server.report().assignments.size).to.equal(0)
    await done(users('adopt', `${ada}=${first}`))
    await done(importFile())
    expect([...server.report().assignments.keys()]).to.deep.equal([first])
  })

  it('creates a forgotten user again, once, also if the run that created the user was killed', async () => {
    write(`email\n${ada}\n`)
    await importFile()
    await done(users('state', 'forget', ada))
    const forgotten = home.read('users.state.json')
    await done(importFile())
    expect(creates()).to.equal(2)
    home.write('users.state.json', forgotten)
    await done(importFile())
    expect(creates()).to.equal(2)
  })

  it('continues with an unknown row whose user was adopted', async () => {
    server.fates = { lost: 1 }
    write(roleRow)
    expect((await importFile()).exitCode).to.equal(9)
    server.endFates()
    await done(users('adopt', `${ada}=${idOf()}`))
    await done(importFile())
    expect(creates()).to.equal(1)
    expect(server.report().assignments.get(idOf())).to.deep.equal([{ role: 'admin' }])
  })
})

describe('users as code, for users that only the ledger has', function () {
  this.timeout(30_000)
  const home = serveUsers({ allowsDuplicates: true })
  const { server, users, entries, idOf } = home
  const apply = (...flags: string[]) => users('apply', 'users.csv', '--yes', ...flags)
  const create = (...flags: string[]) => apply('--no-password', ...flags)
  const save = () => users('diff', 'users.csv', '--save', 'users.plan', '--json')
  const creates = () => server.report().creates.get(ada)?.met.length
  const write = (text: string) => home.write('users.csv', text)

  /** Imports a file, without a state file. @returns the ID of the only user */
  async function imported(): Promise<string> {
    write(`email,name\n${ada},Ada\n`)
    expect((await users('import', 'users.csv', '--yes')).stdout).to.match(/created\s+1\n/)
    return idOf()
  }

  it('adopts the users of an import instead of creating them again', async () => {
    const id = await imported()
    const diff = await users('diff', 'users.csv', '--exit-code')
    expect(diff.stdout).to.contain(`= adopt ${ada}  ${id}\n\n1 to adopt.`)
    expect(diff.exitCode).to.equal(10)
    expect(existsSync(home.path('users.state.json'))).to.equal(false)
    expect(await apply()).to.include({ stdout: 'Done: adopted 1 user.\n' })
    expect(entries()).to.deep.equal([{ email: ada, id, hashes: { name: hashOfField('name', 'Ada') } }])
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect(creates()).to.equal(1)
  })

  it('changes what differs of an adopted user, also from a saved plan and without reads before', async () => {
    const id = await imported()
    write(`email,name,role\n${ada},Ada L.,admin\n`)
    const name = { path: 'name', from: 'Ada', to: 'Ada L.' }
    const role = { path: 'role', from: null, to: 'admin', compared_with: 'unknown' }
    const adopted = { action: 'adopt', id, changes: [name, role] }
    expect(printedBy(await save()).users[0]).to.deep.include(adopted)
    const run = printedBy(await users('apply', 'users.plan', '--yes', '--json'))
    expect(run.users[0]).to.deep.include({ action: 'adopt', outcome: 'changed' })
    expect(server.report().users.get(id)).to.include({ name: 'Ada L.' })
    expect((await apply()).stdout).to.equal('No changes.\n')
    const other = await apply('--state', 'other.json', '--no-refresh')
    expect(other.stdout, other.stderr).to.match(/^Done: adopted 1 user\.\n/)
    expect(creates()).to.equal(1)
  })

  it('are adopted by a saved plan on another machine', async () => {
    const id = await imported()
    write(`email,name\n${ada},Ada L.\n`)
    await save()
    rmSync(home.path('.local/state'), { recursive: true })
    const run = await users('apply', 'users.plan', '--yes')
    expect(run.stdout, run.stderr).to.equal('Done: changed 1 user.\n')
    expect(entries()[0]).to.include({ id })
    expect([server.report().users.get(id)?.name, creates()]).to.deep.equal(['Ada L.', 1])
  })

  it('does not create a user of a saved plan who was created since', async () => {
    write(`email\n${ada}\n`)
    await save()
    await imported()
    const run = await users('apply', 'users.plan', '--yes', '--no-password')
    expect(run.exitCode).to.equal(7)
    expect(run.stderr).to.contain('the ledger on this machine now contains this user with the id')
    expect(creates()).to.equal(1)
  })

  it('does not adopt a user who has another email on the service', async () => {
    Object.assign(server.report().users.get(await imported()) ?? {}, { email: 'eve@example.com' })
    for (const flags of [[], ['--no-refresh']]) {
      const run = await apply(...flags)
      expect(run.stderr).to.match(/the user "?usr_\w+"? has the email "?eve@example\.com"?/i)
      expect(run.exitCode).to.be.oneOf([7, 9])
    }
    expect(entries).to.throw()
    expect(creates()).to.equal(1)
  })

  it('creates a user who was deleted since only with --recreate-missing', async () => {
    server.remove(await imported())
    const run = await create()
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.match(/the service no longer has this user \(404\)(.|\n)*--recreate-missing/)
    expect((await create('--recreate-missing')).stdout).to.equal('Done: created 1 user.\n')
    expect(creates()).to.equal(2)
  })

  it('names the IDs of a user who was created more than once', async () => {
    const first = await imported()
    await users('create', '--email', ada, '--no-password', '--allow-duplicates')
    const run = await apply()
    expect(run.exitCode).to.equal(9)
    const words = `created more than once from this machine, with the IDs "${idOf()}" and "${first}"`
    expect(run.stderr).to.contain(words)
    expect(creates()).to.equal(2)
  })

  it('shows a create with an unknown outcome, and sends it again only with --retry-unknown', async () => {
    server.fates = { lost: 1 }
    write(`email\n${ada}\n`)
    await users('import', 'users.csv', '--yes')
    server.endFates()
    const shown = (await users('diff', 'users.csv')).stdout
    expect(shown).to.contain(`? ${ada} unknown: it may or may not exist`)
    expect((await create()).exitCode).to.equal(9)
    expect(creates()).to.equal(1)
    expect((await create('--retry-unknown')).stdout).to.equal('Done: created 1 user.\n')
    expect(creates()).to.equal(2)
  })
})

describe('what users list and users get print', function () {
  this.timeout(30_000)
  const home = serveUsers({ allowsDuplicates: true })
  const { server } = home
  let hidden: readonly string[]
  beforeEach(() => {
    hidden = []
    const { choose } = server
    // Shows more fields of a user than the interface documents.
    server.choose = (request) => {
      const user = server.report().users.get(/^\/v1\/users\/([^/]+)$/.exec(request.path)?.[1] ?? '')
      if (request.method !== 'GET' || !user) return choose(request)
      const shown = { ...user, created_at: '2026-01-01T00:00:00Z', status: 'active', phone: null }
      const settings = { theme: 'dark', ...user.settings, language: 'de' }
      const fields = Object.entries({ ...shown, password: undefined, settings })
      return json(200, Object.fromEntries(fields.filter(([name]) => !hidden.includes(name))))
    }
  })
  const users = (words: string[], stdin = '') => home.chatctl(['users', ...words], { stdin })
  const ids = () => [...server.report().users.keys()]
  const write = (...rows: string[]) => home.write('users.csv', rows.map((row) => `${row}\n`).join(''))

  const create = (...words: string[]) => {
    const metadata = ['--metadata', 'company=Acme', '--metadata', 'seats:=5']
    return done(users(['create', '--no-password', ...metadata, ...words]))
  }
  async function createAll(): Promise<void> {
    for (const email of [ada, 'bob@example.com']) await create('--email', email, '--name', 'N')
  }
  const forgetMachine = () => rmSync(home.path('.local/state'), { recursive: true })

  const commands: [name: string, words: () => string[], ignored: RegExp][] = [
    ['users list', () => ['list'], /created_at, source, outcome/],
    ['users list of a field', () => ['list', '--fields', 'email,id'], /^/],
    ['users get', () => ['get', ...ids()], /(?=.*created_at)(?=.*settings\.language)/],
    ['users get of one', () => ['get', ids()[0] ?? ''], /settings\.language/],
    ['users get of some fields', () => ['get', ...ids(), '--fields', 'id,email,name,metadata'], /^/],
  ]
  for (const [name, words, ignored] of commands)
    it(`can be imported, compared, and applied: ${name}`, async () => {
      await createAll()
      await create('--name', 'Without email')
      for (const format of ['csv', 'json', 'jsonl'].map((format) => ['-o', format])) {
        const { stdout } = await users([...words(), ...format])
        for (const command of [['import', '--yes'], ['import', '--dry-run'], ['diff'], ['apply', '--yes']]) {
          // Without a file extension, the format is detected.
          const run = await users([...command, '-'], stdout)
          expect(run.exitCode, `${command} ${format} ${run.stderr}`).to.equal(0)
          expect(run.stderr).to.match(ignored)
        }
      }
      const seats = [...server.report().users.values()].map(({ metadata }) => metadata?.['seats'])
      expect(seats).to.deep.equal([5, 5, 5])
    })

  it('can be in the fields of a response that contain the user', async () => {
    const plan = (input: string) => users(['import', '--dry-run', '--json', '-'], input)
    const user = { id: 7, email: ada, created_at: 'x', name: 'Ada' }
    for (const text of [[user], { data: [user] }, { users: [{ data: user }] }, { data: user, ok: true }]) {
      const [{ url }] = printedBy(await plan(JSON.stringify(text, null, 2))).first_requests
      expect(url).to.equal(`${server.url}/v1/users/7`)
    }
    const cells = `id,metadata.a,metadata,settings\n1,b,"{""a"":1,""c"":2}","{""language"":""de""}"\n2,,, \n`
    const { requests, first_requests: first } = printedBy(await plan(cells))
    expect([requests, first[0].body]).to.deep.equal([1, { metadata: { a: 'b', c: 2 } }])
    const dropped: [object, string][] = [
      [{ ...user, rol: 'admin' }, 'unknown field "rol", did you mean "role"?'],
      [{ user: { id: 't2' }, data: { metadata: { a: 1 } } }, 'unknown field "data"'],
      [{ user_id: 't1', role: 'admin', data: { role: 'viewer' } }, 'unknown field "data"'],
      [{ role: 'admin', user: { data: { id: 't1', role: 'viewer' } } }, 'role is given twice'],
    ]
    for (const [row, words] of dropped)
      expectFailure(await users(['import', '--dry-run', '-'], JSON.stringify([row])), 2, words)
  })

  it('are no users to create if they may exist', async () => {
    await createAll()
    server.faults.set('POST /v1/users', [reset])
    await users(['create', '--no-password', '--email', 'eve@example.com'])
    const fault = 'the outcome of the creation is "unknown", so the user may exist'
    for (const format of ['csv', 'json', 'jsonl']) {
      const { stdout } = await users(['list', '-o', format])
      for (const command of [['import', '--dry-run'], ['diff']])
        expectFailure(await users([...command, '-'], stdout), 2, fault)
      const skipped = await users(['import', '--dry-run', '--skip-invalid', '--json', '-'], stdout)
      expect(printedBy(skipped)).to.include({ creates: 0 })
    }
  })

  it('keeps the IDs of users who are known nowhere else, if the service shows their emails', async () => {
    await createAll()
    const { stdout } = await users(['get', ...ids(), '-o', 'csv'])
    forgetMachine()
    write(stdout.replaceAll(',N,', ',M,'))
    hidden = ['email']
    const unchecked = await users(['diff', 'users.csv'])
    expect(unchecked.exitCode).to.equal(9)
    expect(unchecked.stdout).to.match(/Cannot check that the user ".*" has the email ada@example\.com/)
    hidden = []
    const shown = (await users(['diff', 'users.csv'])).stdout
    expect(shown).to.contain('the file or the ledger on this machine has the ID')
    const run = await users(['apply', 'users.csv', '--yes'])
    expect(run.stdout, run.stderr).to.equal('Done: changed 2 users.\n')
    expect((await users(['apply', 'users.csv', '--yes'])).stdout).to.equal('No changes.\n')
    expect(ids()).to.have.length(2)
    expect(home.entries()[0]).to.include({ id: ids()[0] })
  })

  it('contradicts what is known if an ID belongs to another email, and nothing is sent', async () => {
    await createAll()
    const [first, second] = ids()
    const apply = async (...flags: string[]) => {
      const { exitCode, stdout, stderr } = await users(['apply', 'users.csv', '--yes', ...flags])
      expect(exitCode).to.equal(9)
      return stderr + stdout
    }
    write('email,id,role', `${ada},${second},admin`)
    const known = await users(['diff', 'users.csv'])
    expect(known.exitCode).to.equal(9)
    expect(known.stdout).to.contain(`The row has the ID "${second}", but ${ada} has the ID "${first}"`)
    write('email,id,role', `new@example.com,${second},admin`)
    expect(await apply()).to.contain('it belongs to bob@example.com')
    forgetMachine()
    expect(await apply())
      .to.contain('has the email "bob@example.com" on the service, not "new@example.com"')
      .and.contain('users.csv:2: ')
      .and.not.contain('users state forget')
    write('email,id,role', 'new@example.com,none,admin')
    expect(await apply('--recreate-missing'))
      .to.contain('users.csv:2: new@example.com: no user has the ID "none"; check the ID')
      .and.not.contain('--recreate-missing')
    expect(ids()).to.have.length(2)
    expect(server.report().assignments.size).to.equal(0)
    expect(existsSync(home.path('users.state.json'))).to.equal(false)
  })
})

describe('the ID of a created user', () => {
  let created: (user: { email: string; password: string }) => Behavior
  let read: object
  const server = perTest(() => startScriptedServer({ choose: respond }))
  const home = runAgainst(server)
  const { changes } = home
  beforeEach(() => {
    read = {}
  })

  function respond({ method, path, body }: RecordedRequest): Behavior {
    if (path !== '/v1/users') return json(200, method === 'GET' ? read : {})
    return created(JSON.parse(body))
  }

  const commands = {
    import: ['import', 'users.json', '--yes', '--results', 'results.csv'],
    apply: ['apply', 'users.json', '--yes', '--password-command', 'printf secret-%s 1'],
  }
  const run = (name: keyof typeof commands, emails: readonly object[], ...flags: string[]) => {
    const rows = emails.map((user) => (name === 'import' ? { ...user, password: 'secret-1' } : user))
    home.write('users.json', JSON.stringify(rows))
    server.requests.length = 0
    return home.users(...commands[name], ...flags)
  }
  const fails = async (...given: Parameters<typeof run>) => {
    const failed = await run(...given)
    expect(failed.exitCode, failed.stderr).to.equal(9)
    return failed
  }
  const bob = { email: 'bob@example.com', role: 'admin' }
  const eve = { email: 'eve@example.com' }

  const bodies: [body: object, id: string | undefined][] = [
    [{ id: 'u1', user: { id: 'u2' }, user_id: 'u3' }, 'u1'],
    [{ user: { id: 'u1', email: 'bob@example.com' } }, 'u1'],
    [{ user_id: 7 }, '7'],
    [{ data: { id: 'u1' } }, 'u1'],
    [{ data: { user: { user_id: 'u1' } } }, 'u1'],
    [{ user: { name: 'Bob' }, data: [], user_id: null }, undefined],
  ]
  for (const [body, id] of bodies)
    it(`is ${id ?? 'unknown'} in ${JSON.stringify(body)}`, async () => {
      expect(idOfCreated({ body, status: 201, headers: {}, faults: [] })).to.equal(id)
      if (id === undefined) return
      created = () => json(201, body)
      read = 'data' in body ? { data: { id, ...bob } } : { id, ...bob }
      await done(run('import', [bob]))
      expect(changes()).to.deep.equal(['POST /v1/users', `POST /v1/users/${id}/permissions`])
      await done(run('apply', [bob]))
    })

  it('is checked for its email in a response with a wrapped user', async () => {
    created = () => json(201, { user: { id: 'u1', email: 'other@example.com' } })
    expect((await run('import', [bob])).stderr).to.contain('the response has the email "other@example.com"')
    expect(changes()).to.deep.equal(['POST /v1/users'])
  })

  it('is awaited before a second user is created, and then creates are sent together', async () => {
    let arrived = 0
    let alone = 0
    const together = Promise.withResolvers<void>()
    created = (user) => async (request, response, incoming) => {
      const number = ++arrived
      if (number === 5) together.resolve()
      if (number === 1) await new Promise((resolve) => setTimeout(resolve, 20))
      else await together.promise
      alone ||= arrived
      return json(201, { id: user.email })(request, response, incoming)
    }
    const nine = Array.from({ length: 9 }, (_, n) => ({ email: `u${n}@example.com` }))
    await done(run('import', nine, '--concurrency', '4'))
    expect([alone, arrived]).to.deep.equal([1, 9])
  })

  for (const name of ['import', 'apply'] as const)
    describe(`which a service does not return, in users ${name}`, () => {
      beforeEach(() => {
        created = ({ password }) => json(201, { ok: true, token: 'abc', echo: `is ${password}` })
      })

      it('ends the run after one create, with the response body without secrets', async () => {
        const { stderr } = await fails(name, [{ email: ada }, bob, eve], '--json')
        expect(changes()).to.deep.equal(['POST /v1/users'])
        const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
        const body = { ok: true, token: '[redacted]', echo: 'is [redacted]' }
        expect(error).to.deep.include({ code: 'no_id', details: { body } })
        expect(error.message).to.contain(`creation of ${ada} (201) contains no ID`).and.contain('"ok":true')
        expect(error.hint).to.contain('--without-ids')
        expect(stderr).not.to.contain('secret-1').and.not.contain('To resume')
      })

      it('lets --without-ids create the users that need no other request', async () => {
        const { stderr } = await fails(name, [{ email: ada }, bob, eve], '--without-ids')
        expect(changes()).to.deep.equal(['POST /v1/users', 'POST /v1/users'])
        expect(stderr).to.contain('not created, because the next request needs the ID')
      })

      it('is only accepted with status 202, so that the user is not counted as created', async () => {
        created = () => json(202, { id: 'u1' })
        const { stdout, stderr } = await fails(name, [{ email: ada }])
        expect(stderr).to.contain('has only accepted the request (202), and may create the user later')
        expect(stdout).not.to.contain('created 1 user')
        await fails(name, [{ email: ada }])
        expect(changes()).to.deep.equal([])
      })
    })

  it('may be unknown for an import with --without-ids whose users need no other request', async () => {
    created = () => json(201, {})
    await done(run('import', [{ email: ada }, eve], '--without-ids'))
    expect(home.rows().map(({ email }) => email)).to.deep.equal([ada, 'eve@example.com'])
    for (const row of home.rows()) expect(row).to.include({ id: '', status: 'created' })
  })

  it('does not make users create call a user created that the service has only accepted', async () => {
    created = () => json(202, {})
    const { stderr } = expectSuccess(await home.users('create', '--email', ada, '--no-password'))
    expect(stderr).to.contain('only accepted the request (202)').and.not.contain('Created')
  })
})
