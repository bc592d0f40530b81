import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

const two = 'email,name,role\na@x.org,A,editor\nb@x.org,B,editor\n'

describe('importing users who were created from this machine before', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let server: Served<UsersHandler>
  let sent: string[]

  async function serve(options: UsersOptions = {}): Promise<void> {
    // Duplicates are allowed, so that the test notices a user that is created twice.
    server = await serveHandler(new UsersHandler({ allowsDuplicates: true, ...options }))
    sent = []
    server.onRequest = ({ method, path, body }) => {
      if (method !== 'GET') sent.push(path.endsWith('/permissions') ? path : JSON.parse(body).email)
    }
  }
  afterEach(() => server.close())

  const chatctl = (args: readonly string[], more: RunOptions = {}): Promise<Run> =>
    runChatctl(sandbox, args, { ...more, service: server, timeout: 50_000 })
  const results = () => join(sandbox.home, 'results.csv')
  /** Imports a file with this text. `sent` then has only its requests. */
  const importing = async (name: string, text: string, ...flags: string[]): Promise<Run> => {
    const path = join(sandbox.home, name)
    if (name !== '-') {
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, text)
    }
    sent.length = 0
    const line = ['users', 'import', name === '-' ? name : path, '--yes', '--json', ...flags]
    return chatctl(line, name === '-' ? { stdin: text } : {})
  }
  const counts = ({ stdout, stderr }: Run) => JSON.parse(stdout || JSON.stringify({ stderr }))
  const rows = (): Record<string, string>[] => parse(readFileSync(results()), { columns: true })
  const limit = (quota: string) => ['--concurrency', '1', '--quota', quota]
  const idOf = (email: string) => server.report().creates.get(email)?.ids[0]
  const assigned = (email: string) => `/v1/users/${idOf(email)}/permissions`

  for (const name of ['renamed.csv', 'other/users.csv', '-'])
    it(`sends only an added row: ${name}`, async () => {
      await serve()
      await importing('users.csv', two)
      const more = `${two}c@x.org,C,editor\n`
      const dry = await importing(name, more, '--dry-run')
      expect(counts(dry)).to.include({ already_done: 2, creates: 1, assignments: 1 })
      expect(dry.stderr).to.contain('2 emails in the file')
      const done = await importing(name, more, '--results', results())
      expect(done.exitCode, done.stderr).to.equal(0)
      expect(done.stderr).to.match(/"2 emails in the file belong .*--allow-duplicates/)
      expect(counts(done)).to.include({ created: 1, already_done: 2, requests: 2 })
      expect(sent).to.deep.equal(['c@x.org', assigned('c@x.org')])
      const shown = rows().map(({ id, status }) => [id, status])
      expect(shown).to.deep.equal(['a@x.org', 'b@x.org', 'c@x.org'].map((email) => [idOf(email), 'created']))
      expect(counts(await importing(name, more))).to.include({ created: 0, already_done: 3 })
      expect(sent).to.deep.equal([])
    })

  it('assigns the role of a row to the user that any command created with its email', async () => {
    await serve()
    await chatctl(['users', 'create', '--email', 'A@x.org', '--no-password'])
    await importing('other.csv', 'email,name\nb@x.org,Other\n')
    const done = await importing('users.csv', two, '--results', results(), '--generate-passwords')
    expect(counts(done)).to.include({ created: 0, updated: 2, requests: 2 })
    expect(done.stderr).not.to.contain('passwords of')
    expect(sent.sort()).to.deep.equal([assigned('A@x.org'), assigned('b@x.org')].sort())
    expect(rows()[0]).to.include({ id: idOf('A@x.org'), status: 'updated', password: '' })
    const next = await importing('users.csv', two, '--results', results(), '--generate-passwords')
    expect(counts(next)).to.include({ updated: 0, already_done: 2, requests: 0 })
  })

  it('creates them again with --allow-duplicates, once for each file', async () => {
    await serve()
    await importing('users.csv', two)
    await importing('again.csv', `${two}c@x.org,C,\n`)
    const done = await importing('again.csv', `${two}c@x.org,C,\n`, '--allow-duplicates')
    expect(counts(done)).to.include({ created: 2, already_done: 1, requests: 4 })
    for (const flags of [[], ['--allow-duplicates']])
      expect(counts(await importing('again.csv', `${two}c@x.org,C,\n`, ...flags))).to.include({ requests: 0 })
    expect(server.report().creates.get('a@x.org')?.ids).to.have.length(2)
  })

  it('creates them again with --restart, also if that run was interrupted', async () => {
    await serve()
    await importing('users.csv', two)
    expect((await importing('users.csv', two, '--restart', ...limit('6/h'))).exitCode).to.equal(75)
    expect(counts(await importing('users.csv', two))).to.include({ created: 1 })
    expect(server.report().creates.get('b@x.org')?.ids).to.have.length(2)
  })

  it('finds them again in a later run after --restart has finished', async () => {
    await serve()
    await importing('users.csv', two)
    const own = 'email\nc@x.org\n'
    await importing('c.csv', own)
    expect(counts(await importing('c.csv', own, '--restart'))).to.include({ created: 1 })
    expect(counts(await importing('c.csv', `${own}a@x.org\n`))).to.include({ already_done: 2, requests: 0 })
    const more = `${own}a@x.org\nd@x.org\n`
    expect(counts(await importing('c.csv', more))).to.include({ created: 1 })
    expect(counts(await importing('c.csv', `${more}b@x.org\n`))).to.include({ already_done: 4, requests: 0 })
  })

  it('does not send the rows of an interrupted import that another import has sent meanwhile', async () => {
    await serve()
    expect((await importing('users.csv', two, ...limit('2/h'))).exitCode).to.equal(75)
    await importing('copy.csv', 'email,name,role\nx@x.org,X,\nb@x.org,B,editor\n')
    expect(counts(await importing('users.csv', two))).to.include({ already_done: 2, requests: 0 })
    expect(server.report().creates.get('b@x.org')?.ids).to.have.length(1)
  })

  it('sends a fixed row of the file of failed rows, and then does not send it from the first file', async () => {
    let isFixed = false
    await serve({ rejects: () => !isFixed })
    await importing('users.csv', 'email,role\nbad@x.org,editor\n')
    isFixed = true
    await importing('users.failed.csv', 'email,role\nbad@x.org,admin\n')
    expect(sent[0]).to.equal('bad@x.org')
    await importing('users.csv', 'email,role\nbad@x.org,editor\n')
    expect(sent).to.deep.equal([assigned('bad@x.org')])
  })

  it('does not send a create that may have been made, and lets it be resolved', async () => {
    await serve({ fates: { lost: 1 } })
    await importing('users.csv', 'email,role\na@x.org,editor\n')
    server.endFates()
    const text = 'email,role\nb@x.org,\nA@x.org,editor\n'
    const done = await importing('copy.csv', text)
    expect(done.exitCode).to.equal(9)
    expect(counts(done)).to.include({ created: 1, unknown: 1 })
    expect(done.stderr).to.contain('may have created this user').and.to.contain('--on-unknown retry --line 3')
    const resolved = await importing(
      'copy.csv',
      text,
      '--on-unknown',
      'created',
      '--id',
      idOf('a@x.org') ?? '',
    )
    expect([resolved.exitCode, sent]).to.deep.equal([0, [assigned('a@x.org')]])
  })

  it('generates the password of a create that is sent again', async () => {
    await serve({ fates: { lost: 1 } })
    await importing('users.csv', 'email\na@x.org\n')
    server.endFates()
    const passwords = ['--results', results(), '--generate-passwords']
    await importing('copy.csv', 'email\nb@x.org\na@x.org\n', ...passwords)
    expect(rows()[1]).to.include({ status: 'unknown', password: '' })
    await importing('copy.csv', 'email\nb@x.org\na@x.org\n', ...passwords, '--on-unknown', 'retry')
    expect(rows()[1]).to.include({ status: 'created' })
    const { users } = server.report()
    expect([...users.values()].at(-1)?.password)
      .to.equal(rows()[1]?.['password'])
      .and.not.equal('')
  })

  it('leaves no unfinished import if the confirmation prompt was declined', async () => {
    await serve()
    await importing('users.csv', two)
    const path = join(sandbox.home, 'more.csv')
    writeFileSync(path, `${two}c@x.org,C,\n`)
    expect((await chatctl(['users', 'import', path])).exitCode).to.equal(3)
    expect((await chatctl(['users', 'import', path, '--close'])).stderr).to.contain('No unfinished import')
  })

  it('does not change users of another service', async () => {
    await serve()
    await importing('users.csv', two)
    await using other = await serveHandler(new UsersHandler())
    const env = { CHATCTL_BASE_URL: other.url }
    const line = ['users', 'import', join(sandbox.home, 'users.csv'), '--yes', '--json']
    expect(counts(await chatctl(line, { env }))).to.include({ created: 2 })
  })
})
