import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hashOfField } from '../../../src/contract/managed-fields.ts'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

describe('users import --state', () => {
  const sandbox = perTest(createSandbox)
  let server: Served<UsersHandler>

  async function serve(options: UsersOptions = {}): Promise<void> {
    server = await serveHandler(new UsersHandler(options))
  }

  const env = () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' })
  const statePath = () => join(sandbox.home, 'users.state.json')
  const withState = ['--state', 'users.state.json']

  function importFile(text: string, ...args: string[]): Promise<Run> {
    writeFileSync(join(sandbox.home, 'users.csv'), text)
    return runChatctl(sandbox, ['users', 'import', 'users.csv', '--yes', ...args], { env: env() })
  }

  /** The users of the state file. */
  function users(): { email: string; id?: string; hashes: Record<string, string> }[] {
    return JSON.parse(readFileSync(statePath(), 'utf8')).users
  }

  const openState = () => UsersState.open(statePath(), { service: `${server.url}/`, access: 'write' })

  const idOf = (email: string) => server.report().creates.get(email)?.ids[0]
  const rows = (count: number) =>
    `email,password\n${Array.from({ length: count }, (_, index) => `user-${index}@example.com,secret-word\n`).join('')}`

  afterEach(() => server.close())

  it('adds a user that another command created, with hashes of the fields that the import sent', async () => {
    await serve()
    const create = ['users', 'create', '--email', 'ada@example.com', '--no-password']
    await runChatctl(sandbox, create, { env: env() })
    const run = await importFile('email,name,role\nada@example.com,Ada,editor\n', ...withState)
    expect(run.exitCode, run.stderr).to.equal(0)
    const hashes = { role: hashOfField('role', 'editor') }
    expect(users()).to.deep.equal([{ email: 'ada@example.com', id: idOf('ada@example.com'), hashes }])
  })

  it('adds the users that it created, with hashes of the fields that it sent', async () => {
    await serve()
    const run = await importFile(
      'email,name,password,role,permissions,metadata.company,settings.theme\nada@example.com,Ada,secret-word,editor,read:chat,Acme,dark\n',
      ...withState,
    )
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(run.stderr).to.contain('users.state.json has 1 user of this file.')
    const values = {
      name: 'Ada',
      'metadata.company': 'Acme',
      'settings.theme': 'dark',
      role: 'editor',
      permissions: ['read:chat'],
    }
    const hashes = Object.entries(values).map(([path, value]) => [path, hashOfField(path, value)])
    expect(users()).to.deep.equal([
      { email: 'ada@example.com', id: idOf('ada@example.com'), hashes: Object.fromEntries(hashes) },
    ])
    expect(readFileSync(statePath(), 'utf8')).not.to.contain('secret-word')
  })

  it('adds all rows of an import that was killed and resumed', async () => {
    await serve()
    await importFile(rows(3))
    expect(existsSync(statePath())).to.equal(false)
    expect(await importFile(rows(5), ...withState)).to.include({ exitCode: 0 })
    expect(users().map(({ email, id }) => [email, id])).to.deep.equal(
      Array.from({ length: 5 }, (_, index) => [
        `user-${index}@example.com`,
        idOf(`user-${index}@example.com`),
      ]),
    )
  })

  it('records that the outcome of a create is unknown', async () => {
    await serve({ fates: { lost: 1 } })
    expect((await importFile(rows(2), ...withState)).exitCode).to.equal(9)
    expect(users()).to.deep.equal([
      { email: 'user-0@example.com', creation: 'unknown', hashes: {} },
      { email: 'user-1@example.com', creation: 'unknown', hashes: {} },
    ])
  })

  it('skips rows that the service refused', async () => {
    await serve({ rejects: (email) => email.startsWith('user-1@') })
    expect((await importFile(rows(3), ...withState)).exitCode).to.equal(9)
    expect(users().map(({ email }) => email)).to.deep.equal(['user-0@example.com', 'user-2@example.com'])
  })

  it('sends a field again that another machine has changed since an earlier run', async () => {
    await serve()
    const row = 'ada@example.com,Ada,secret-word,editor\n'
    const header = 'email,name,password,role\n'
    await importFile(header + row, ...withState)
    const [ada] = users()
    const sentSince = { ...ada?.hashes, role: hashOfField('role', 'admin') }
    const state = await openState()
    state.note({ email: 'ada@example.com', id: ada?.id, hashes: sentSince })
    await state.close()
    const run = await importFile(`${header}${row}bob@example.com,Bob,secret-word,editor\n`, ...withState)
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(users().map(({ hashes }) => hashes)).to.deep.equal([
      { name: hashOfField('name', 'Ada'), role: hashOfField('role', 'editor') },
      { name: hashOfField('name', 'Bob'), role: hashOfField('role', 'editor') },
    ])
  })

  it('keeps the id of a user that was created again since an earlier run', async () => {
    await serve()
    await importFile(rows(1), ...withState)
    const state = await openState()
    state.note({ email: 'user-0@example.com', id: 'usr_new', hashes: {} })
    await state.close()
    expect(await importFile(rows(2), ...withState)).to.include({ exitCode: 0 })
    expect(users().map(({ id }) => id)).to.deep.equal(['usr_new', idOf('user-1@example.com')])
  })

  it('counts the rows that it cannot add', async () => {
    await serve()
    const [ada, bob] = [server.add({ email: 'ada@example.com' }), server.add({ email: 'bob@example.com' })]
    await importFile(`id,email,role\n${ada},ada@example.com,admin\n`, ...withState)
    const shifted = `id,email,role\n${ada},other@example.com,admin\n${bob},,admin\n`
    expect((await importFile(shifted, ...withState)).stderr).to.contain(
      'has the email "ada@example.com" on the service',
    )
    const done = await importFile(shifted, ...withState, '--skip-invalid')
    expect(done.stderr).to.contain('Not added to users.state.json: 1 row without an email')
    expect(users()).to.deep.equal([
      { email: 'ada@example.com', id: ada, hashes: { role: hashOfField('role', 'admin') } },
    ])
  })

  it('forgets the hash of a field whose change has an unknown outcome', async () => {
    await serve()
    const id = server.add({ email: 'ada@example.com' })
    await importFile(`id,email,name,role\n${id},ada@example.com,Ada,editor\n`, ...withState)
    expect(Object.keys(users()[0]?.hashes ?? {})).to.deep.equal(['name', 'role'])
    const { url } = server
    await server.close()
    await serve({ fates: { lost: 1 } })
    server.add({ email: 'ada@example.com' })
    writeFileSync(statePath(), readFileSync(statePath(), 'utf8').replace(url, server.url))
    const changed = await importFile(`id,email,name\n${id},ada@example.com,Augusta\n`, ...withState)
    expect(changed.exitCode).to.equal(9)
    expect(Object.keys(users()[0]?.hashes ?? {})).to.deep.equal(['role'])
  })

  it('sends nothing if the state file is invalid or locked, also with --dry-run', async () => {
    await serve()
    server.onRequest = () => expect.fail('a request was sent')
    const state = await openState()
    const refused = await importFile(rows(1), ...withState)
    expectFailure(refused, 7, 'Another chatctl process is using users.state.json')
    await state.close()
    writeFileSync(statePath(), '{}')
    expectFailure(await importFile(rows(1), ...withState), 2, 'users.state.json is not a state file of users')
    expectFailure(await importFile(rows(1), ...withState, '--dry-run'), 2)
  })

  it('refuses one file for the results and the state, and says nothing about the state then', async () => {
    await serve()
    server.onRequest = () => expect.fail('a request was sent')
    const same = ['--state', 'users-1.csv', '--results', './users-1.csv']
    const words = 'Cannot write the results to ./users-1.csv: it is the state file'
    const run = await importFile(rows(1), '--generate-passwords', ...same)
    expectFailure(run, 2, words)
    expect(run.stderr).not.to.contain('of this file')
    writeFileSync(join(sandbox.home, 'wanted.csv'), 'email\nada@example.com\n')
    const args = ['users', 'apply', 'wanted.csv', '--yes', ...same]
    expectFailure(await runChatctl(sandbox, args, { env: env() }), 2, words)
    expectFailure(await importFile(rows(1), ...withState, '--results', 'results.txt'), 2)
  })

  it('writes no state file with --dry-run', async () => {
    await serve()
    expect(await importFile(rows(1), ...withState, '--dry-run')).to.include({ exitCode: 0 })
    expect(existsSync(statePath())).to.equal(false)
  })
})
