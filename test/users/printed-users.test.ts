import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../support/expect-failure.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type Behavior, json, type RecordedRequest, reset, serveHandler } from '../support/scripted-server.ts'

/** Shows more fields of a user than the interface documents. */
class TalkativeUsers extends UsersHandler {
  hidden: readonly string[] = []

  override choose(request: RecordedRequest): Behavior {
    const id = /^\/v1\/users\/([^/]+)$/.exec(request.path)?.[1] ?? ''
    const user = this.report().users.get(id)
    if (request.method !== 'GET' || !user) return super.choose(request)
    const shown = { ...user, created_at: '2026-01-01T00:00:00Z', status: 'active', phone: null }
    const settings = { theme: 'dark', ...user.settings, language: 'de' }
    const fields = Object.entries({ ...shown, password: undefined, settings })
    return json(200, Object.fromEntries(fields.filter(([name]) => !this.hidden.includes(name))))
  }
}

describe('what users list and users get print', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new TalkativeUsers({ allowsDuplicates: true })))
  const path = (name: string) => join(sandbox.home, name)
  const users = (words: string[], stdin = '') =>
    runChatctl(sandbox, ['users', ...words], { service: server, stdin })
  const emails = ['ada@example.com', 'bob@example.com']
  const ids = () => [...server.report().users.keys()]
  const write = (text: string) => writeFileSync(path('users.csv'), text)

  async function create(...words: string[]): Promise<void> {
    const metadata = ['--metadata', 'company=Acme', '--metadata', 'seats:=5']
    expect((await users(['create', '--no-password', ...metadata, ...words])).exitCode).to.equal(0)
  }
  async function createAll(): Promise<void> {
    for (const email of emails) await create('--email', email, '--name', 'N')
  }
  const forgetMachine = () => rmSync(path('.local/state'), { recursive: true })

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
        for (const command of [['import'], ['import', '--dry-run'], ['diff'], ['apply']]) {
          const isSending = command[0] !== 'diff' && command[1] === undefined
          // Without a file extension, the format is detected.
          const run = await users([...command, ...(isSending ? ['--yes'] : []), '-'], stdout)
          expect(run.exitCode, `${command} ${format} ${run.stderr}`).to.equal(0)
          expect(run.stderr).to.match(ignored)
        }
      }
      expect(ids()).to.have.length(3)
      expect([...server.report().users.values()].map(({ metadata }) => metadata?.['seats'])).to.deep.equal([
        5, 5, 5,
      ])
    })

  it('can be in the fields of a response that contain the user', async () => {
    const user = { id: 7, email: 'ada@example.com', created_at: 'x', name: 'Ada' }
    for (const text of [[user], { data: [user] }, { users: [{ data: user }] }, { data: user, ok: true }]) {
      const run = await users(['import', '--dry-run', '--json', '-'], JSON.stringify(text, null, 2))
      const [{ url }] = JSON.parse(run.stdout).first_requests
      expect(url, run.stderr).to.equal(`${server.url}/v1/users/7`)
    }
    const cells = `id,metadata.a,metadata,settings\n1,b,"{""a"":1,""c"":2}","{""language"":""de""}"\n2,,, \n`
    const { requests, first_requests: first } = JSON.parse(
      (await users(['import', '--dry-run', '--json', '-'], cells)).stdout,
    )
    expect([requests, first[0].body]).to.deep.equal([1, { metadata: { a: 'b', c: 2 } }])
    const typo = await users(['import', '--dry-run', '-'], JSON.stringify([{ ...user, rol: 'admin' }]))
    expect(typo.stderr).to.contain('unknown field "rol", did you mean "role"?')
    const dropped: [object, string][] = [
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
      expect(JSON.parse(skipped.stdout), skipped.stderr).to.include({ creates: 0 })
    }
  })

  it('keeps the IDs of users who are known nowhere else, if the service shows their emails', async () => {
    await createAll()
    const { stdout } = await users(['get', ...ids(), '-o', 'csv'])
    forgetMachine()
    write(stdout.replaceAll(',N,', ',M,'))
    server.hidden = ['email']
    const unchecked = await users(['diff', 'users.csv'])
    expect(unchecked.exitCode).to.equal(9)
    expect(unchecked.stdout).to.match(/Cannot check that the user ".*" has the email ada@example\.com/)
    server.hidden = []
    expect((await users(['diff', 'users.csv'])).stdout).to.contain(
      'the file or the ledger on this machine has the ID',
    )
    const run = await users(['apply', 'users.csv', '--yes'])
    expect(run.stdout, run.stderr).to.equal('Done: changed 2 users.\n')
    expect((await users(['apply', 'users.csv', '--yes'])).stdout).to.equal('No changes.\n')
    expect(ids()).to.have.length(2)
    expect(JSON.parse(readFileSync(path('users.state.json'), 'utf8')).users[0]).to.include({ id: ids()[0] })
  })

  it('contradicts what is known if an ID belongs to another email, and nothing is sent', async () => {
    await createAll()
    const [ada, bob] = ids()
    write(`email,id,role\nada@example.com,${bob},admin\n`)
    const known = await users(['diff', 'users.csv'])
    expect(known.stdout).to.contain(`The row has the ID "${bob}", but ada@example.com has the ID "${ada}"`)
    write(`email,id,role\nnew@example.com,${bob},admin\n`)
    const taken = await users(['apply', 'users.csv', '--yes'])
    expect(taken.stderr + taken.stdout).to.contain('it belongs to bob@example.com')
    forgetMachine()
    const read = await users(['apply', 'users.csv', '--yes'])
    expect(read.stderr + read.stdout).to.contain(
      'has the email "bob@example.com" on the service, not "new@example.com"',
    )
    expect(read.stderr).to.contain('users.csv:2: ').and.not.contain('users state forget')
    write('email,id,role\nnew@example.com,none,admin\n')
    const missing = await users(['apply', 'users.csv', '--yes', '--recreate-missing'])
    expect(missing.stderr).to.contain('users.csv:2: new@example.com: no user has the ID "none"; check the ID')
    expect(missing.stderr).not.to.contain('--recreate-missing')
    expect(ids()).to.have.length(2)
    expect([known.exitCode, taken.exitCode, read.exitCode]).to.deep.equal([9, 9, 9])
    expect(server.report().assignments.size).to.equal(0)
    expect(existsSync(path('users.state.json'))).to.equal(false)
  })
})
