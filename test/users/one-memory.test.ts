import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hurriedClock } from '../client/capture.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  serveHandler,
} from '../support/scripted-server.ts'

/** A service whose responses a test can replace. */
class InterposedUsers extends UsersHandler {
  instead: (request: RecordedRequest) => Behavior | undefined = () => undefined

  override choose(request: RecordedRequest): Behavior {
    return this.instead(request) ?? super.choose(request)
  }
}

describe('what another command has sent', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new InterposedUsers({ allowsDuplicates: true })))
  const path = (name: string) => join(sandbox.home, name)
  const write = (name: string, text: string) => writeFileSync(path(name), text)
  const chatctl = (...words: string[]) => runChatctl(sandbox, words, { service: server })
  const users = (...words: string[]) => chatctl('users', ...words)
  const apply = (...flags: string[]) => users('apply', 'users.csv', '--yes', '--no-password', ...flags)
  const diff = () => users('diff', 'users.csv', '--exit-code')
  const idOf = (email = 'ada@example.com') => server.report().creates.get(email)?.ids.at(-1) ?? ''
  const roles = (id = idOf()) =>
    server
      .report()
      .assignments.get(id)
      ?.map(({ role }) => role)

  async function done(run: ReturnType<typeof chatctl>): Promise<void> {
    const { exitCode, stderr } = await run
    expect(exitCode, stderr).to.equal(0)
  }

  /** Applies the file on another machine, which shares the state file. */
  const applyElsewhere = () => {
    const env = { XDG_STATE_HOME: path('elsewhere') }
    return done(runChatctl(sandbox, ['users', 'apply', 'users.csv', '--yes'], { service: server, env }))
  }

  /** The other commands, each of which makes the user an admin. */
  const others: Record<string, () => Promise<void>> = {
    'users permissions assign': () => done(users('permissions', 'assign', idOf(), '--role', 'admin')),
    'users permissions assign --file': () => {
      write('roles.csv', `id,role\n${idOf()},admin\n`)
      return done(users('permissions', 'assign', '--file', 'roles.csv', '--yes'))
    },
    'users import by ID': () => {
      write('import.csv', `id,role\n${idOf()},admin\n`)
      return done(users('import', 'import.csv', '--yes'))
    },
    'users import by email': () => {
      write('import.csv', 'email,role\nada@example.com,admin\n')
      return done(users('import', 'import.csv', '--yes'))
    },
    api: () => done(chatctl('api', 'POST', `/v1/users/${idOf()}/permissions`, '--data', '{"role":"admin"}')),
    'api below a base URL with /v1': () =>
      done(
        runChatctl(sandbox, ['api', 'POST', `/users/${idOf()}/permissions`, '--data', '{"role":"admin"}'], {
          env: { CHATCTL_BASE_URL: `${server.url}/v1`, CHATCTL_API_KEY: 'some-key' },
        }),
      ),
    'an older generation of the state file': async () => {
      const before = readFileSync(path('users.state.json'))
      write('users.csv', 'email,name,role\nada@example.com,Ada,admin\n')
      await done(apply())
      write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
      writeFileSync(path('users.state.json'), before)
    },
  }
  for (const [name, change] of Object.entries(others)) {
    it(`is a difference that users apply sends: ${name}`, async () => {
      write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
      await done(apply())
      await change()
      const found = await diff()
      expect(found.stdout + found.stderr).to.match(/role {2}.*"staff"/)
      expect(found.exitCode).to.equal(10)
      await done(apply())
      expect(roles()).to.deep.equal(['staff', 'admin', 'staff'])
      expect(await diff()).to.include({ exitCode: 0 })
    })
  }

  it('was not changed by someone else', async () => {
    write('users.csv', 'email,name\nada@example.com,Ada\n')
    await done(apply())
    await done(users('update', idOf(), '--name', 'Eve'))
    const found = JSON.parse((await users('diff', 'users.csv', '--json')).stdout)
    expect(found.users[0].changes).to.deep.equal([{ path: 'name', from: 'Eve', to: 'Ada' }])
  })

  it('is known if the state file is named in another way', async () => {
    write('users.csv', 'email,role\nada@example.com,staff\n')
    symlinkSync(sandbox.home, path('link'))
    await done(apply('--state', 'link/users.state.json'))
    await done(users('permissions', 'assign', idOf(), '--role', 'admin'))
    const found = JSON.parse((await users('diff', 'users.csv', '--json')).stdout)
    expect(found.users[0].changes[0]).to.include({ path: 'role', compared_with: 'last_sent' })
  })

  it('loses against a generation of the state file that another machine wrote', async () => {
    write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
    await done(apply())
    write('users.csv', 'email,name,role\nada@example.com,Ada,admin\n')
    await applyElsewhere()
    expect(await diff()).to.include({ exitCode: 0 })
    expect(roles()).to.deep.equal(['staff', 'admin'])
  })

  it('is shown if Git restores a generation of the state file that another machine wrote before', async () => {
    write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
    await done(apply())
    write('users.csv', 'email,name,role\nada@example.com,Ada,admin\n')
    await applyElsewhere()
    const before = readFileSync(path('users.state.json'))
    write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
    await done(apply())
    writeFileSync(path('users.state.json'), before)
    write('users.csv', 'email,name,role\nada@example.com,Ada,admin\n')
    expect(await diff()).to.include({ exitCode: 10 })
  })

  it('is not known if both have changed a field', async () => {
    write('users.csv', 'email,name,role\nada@example.com,Ada,staff\n')
    await done(apply())
    write('users.csv', 'email,name,role\nada@example.com,Ada,editor\n')
    await applyElsewhere()
    await done(users('permissions', 'assign', idOf(), '--role', 'admin'))
    const found = JSON.parse((await users('diff', 'users.csv', '--json')).stdout)
    expect(found.users[0].changes).to.deep.equal([
      { path: 'role', from: null, to: 'editor', compared_with: 'unknown' },
    ])
    await done(apply())
    expect(roles()).to.deep.equal(['staff', 'editor', 'admin', 'editor'])
  })

  it('is in no generation of the state file if it was sent while the file was first written', async () => {
    write('users.csv', 'email,role\nada@example.com,editor\nbob@example.com,editor\n')
    let assigning: Promise<void> | undefined
    server.onRequest = ({ method, path: at, body }) => {
      if (method === 'POST' && at === '/v1/users' && body.includes('bob'))
        assigning ??= done(users('permissions', 'assign', idOf(), '--role', 'admin'))
    }
    await done(apply('--concurrency', '1'))
    await assigning
    expect(await diff()).to.include({ exitCode: 10 })
  })

  it('is as old as the last attempt after a 429', async () => {
    write('users.csv', 'email,role\nada@example.com,staff\n')
    await done(apply())
    write('import.csv', `id,role\n${idOf()},editor\n`)
    let assigning: Promise<void> | undefined
    let isAssigned = false
    server.instead = ({ path: at, body }) => {
      if (!at.endsWith('/permissions') || !body.includes('editor') || isAssigned) return undefined
      assigning ??= done(users('permissions', 'assign', idOf(), '--role', 'admin')).then(() => {
        isAssigned = true
      })
      return limited({ 'retry-after': '0' })
    }
    const words = ['users', 'import', 'import.csv', '--yes', '--max-wait', '12h']
    await done(runChatctl(sandbox, words, { service: server, host: { clock: hurriedClock() } }))
    await assigning
    write('users.csv', `email,role\nada@example.com,${roles()?.at(-1)}\n`)
    expect(await diff()).to.include({ exitCode: 0 })
  })

  it('is not what the service shows, in each run', async () => {
    write('users.csv', 'email,permissions\nada@example.com,read:chat;write:chat\n')
    await done(apply())
    server.instead = ({ path: at }) =>
      at.endsWith('/permissions') ? json(200, { permissions: ['read:chat', 'write:chat'] }) : undefined
    write('users.csv', 'email,permissions\nada@example.com,read:chat\n')
    for (let run = 0; run < 2; run++) {
      expect((await apply()).exitCode).to.equal(7)
      expect((await diff()).exitCode).to.equal(10)
    }
  })

  it('is a user of whom an earlier one no longer exists', async () => {
    const create = () => done(users('create', '--email', 'ada@example.com', '--no-password'))
    await create()
    server.remove(idOf())
    await create()
    write('users.csv', 'email,role\nada@example.com,admin\n')
    await done(apply())
    expect(roles()).to.deep.equal(['admin'])
  })

  it('decides whether a row of an import is done', async () => {
    for (const [month, role] of [
      ['jan', 'staff'],
      ['feb', 'admin'],
      ['mar', 'staff'],
      ['apr', 'staff'],
    ]) {
      write(`${month}.csv`, `email,role\nada@example.com,${role}\n`)
      await done(users('import', `${month}.csv`, '--yes'))
    }
    expect(roles()).to.deep.equal(['staff', 'admin', 'staff'])
  })
})

describe('users import --state', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new InterposedUsers({ allowsDuplicates: true, fates: {} })))
  const write = (text: string) => writeFileSync(join(sandbox.home, 'users.csv'), text)
  const users = (...words: string[]) => runChatctl(sandbox, ['users', ...words], { service: server })
  const importFile = (...flags: string[]) =>
    users('import', 'users.csv', '--yes', '--state', 'users.state.json', ...flags)
  const creates = () => server.report().creates.get('ada@example.com')?.ids.length ?? 0

  it('does not create a user whom the state file has', async () => {
    const id = server.add({ email: 'ada@example.com' })
    expect((await users('adopt', `ada@example.com=${id}`)).exitCode).to.equal(0)
    rmSync(join(sandbox.home, '.local/state'), { recursive: true, force: true })
    write('email,role\nada@example.com,admin\n')
    const run = await importFile()
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(creates()).to.equal(0)
    expect(server.report().assignments.get(id)).to.deep.equal([{ role: 'admin' }])
  })

  it('sends nothing for an email with two users until their ID is given', async () => {
    for (let count = 0; count < 2; count++)
      await users('create', '--email', 'ada@example.com', '--no-password', '--allow-duplicates')
    const [first = '', second = ''] = server.report().creates.get('ada@example.com')?.ids ?? []
    write('email,role\nada@example.com,admin\n')
    const run = await importFile()
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain(`"${second}" and "${first}"`)
    expect(server.report().assignments.size).to.equal(0)
    expect((await users('adopt', `ada@example.com=${first}`)).exitCode).to.equal(0)
    expect((await importFile()).exitCode).to.equal(0)
    expect([...server.report().assignments.keys()]).to.deep.equal([first])
  })

  it('creates a forgotten user again', async () => {
    write('email\nada@example.com\n')
    await importFile()
    expect((await users('state', 'forget', 'ada@example.com')).exitCode).to.equal(0)
    const run = await importFile()
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(creates()).to.equal(2)
  })

  it('creates a forgotten user once, also if the run that created the user was killed', async () => {
    write('email\nada@example.com\n')
    await importFile()
    await users('state', 'forget', 'ada@example.com')
    const forgotten = readFileSync(join(sandbox.home, 'users.state.json'))
    await importFile()
    writeFileSync(join(sandbox.home, 'users.state.json'), forgotten)
    expect(await importFile()).to.include({ exitCode: 0 })
    expect(creates()).to.equal(2)
  })

  it('never takes the ID from a response that is about another user', async () => {
    server.instead = ({ method, path: at }) =>
      method === 'POST' && at === '/v1/users'
        ? json(201, { id: 'usr_boss', email: 'other@example.com' })
        : undefined
    write('email,role\nada@example.com,admin\n')
    for (let run = 0; run < 2; run++) expect((await importFile()).exitCode).to.equal(9)
    expect(server.report().assignments.size).to.equal(0)
  })

  it('continues with an unknown row whose user was adopted', async () => {
    server.fates = { lost: 1 }
    write('email,role\nada@example.com,admin\n')
    expect((await importFile()).exitCode).to.equal(9)
    server.endFates()
    const [id = ''] = server.report().users.keys()
    expect((await users('adopt', `ada@example.com=${id}`)).exitCode).to.equal(0)
    const run = await importFile()
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(creates()).to.equal(1)
    expect(server.report().assignments.get(id)).to.deep.equal([{ role: 'admin' }])
  })
})
