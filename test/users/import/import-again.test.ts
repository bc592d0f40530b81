import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  reset,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('an import after other commands and runs', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let sent: string[]
  let behave: (request: RecordedRequest, count: number) => Behavior
  let read: Behavior
  const server = perTest(() =>
    startScriptedServer({
      choose: (request) => {
        const { method, path: at } = request
        if (method === 'GET') return at.startsWith('/v1/users/') ? read : json(200, {})
        sent.push(at)
        return behave(request, sent.length)
      },
    }),
  )
  beforeEach(() => {
    sent = []
    read = json(200, {})
    behave = (_, count) => json(201, { id: `u${count}` })
  })

  const path = (name: string) => join(sandbox.home, name)
  const write = (name: string, ...lines: string[]) => writeFileSync(path(name), `${lines.join('\n')}\n`)
  const chatctl = (...words: string[]): Promise<Run> =>
    runChatctl(sandbox, words, { service: server, timeout: 50_000 })
  /** Imports a file. `sent` then has only its requests. */
  const importing = (name: string, ...flags: string[]) => {
    sent = []
    return chatctl('users', 'import', path(name), '--yes', '--json', ...flags)
  }
  const counts = ({ stdout, stderr }: Run) => JSON.parse(stdout || JSON.stringify({ stderr }))
  const create = () => chatctl('users', 'create', '--email', 'a@x.org', '--no-password')

  it('takes no user from a response that had the ID of another one, in any run', async () => {
    behave = () => json(201, { id: 'u1' })
    write('a.csv', 'email,role', 'a@x.org,')
    await importing('a.csv')
    write('b.csv', 'email,role', 'b@x.org,admin')
    for (const requests of [1, 0]) {
      const run = await importing('b.csv')
      expect([run.exitCode, sent.length]).to.deep.equal([9, requests])
      expect(run.stderr).to.match(/the user was created, but|about another one/)
    }
    read = json(200, { email: 'a@x.org' })
    write('pair.csv', 'id,email,role', 'u1,b@x.org,admin')
    expect((await importing('pair.csv')).exitCode).to.equal(2)
    expect(sent).to.deep.equal([])
  })

  it('counts what users create made, which no resolution changes', async () => {
    write('a.csv', 'email', 'a@x.org')
    behave = () => reset
    expect((await importing('a.csv')).exitCode).to.equal(9)
    behave = () => json(201, { id: 'u2' })
    await create()
    for (const flags of [[], ['--on-unknown', 'skip']])
      expect(counts(await importing('a.csv', ...flags))).to.include({ already_done: 1, requests: 0 })
    read = json(200, { id: 'u2', email: 'a@x.org' })
    expect(counts(await chatctl('users', 'get', 'a@x.org', '--json'))).to.include({ id: 'u2' })
  })

  it('takes the ID that was given for an email with several users', async () => {
    await create()
    await chatctl('users', 'create', '--email', 'a@x.org', '--no-password', '--allow-duplicates')
    write('a.csv', 'email,role', 'a@x.org,staff')
    expect((await importing('a.csv')).exitCode).to.equal(9)
    expect((await importing('a.csv', '--on-unknown', 'created', '--id', 'u2')).exitCode).to.equal(0)
    expect(sent).to.deep.equal(['/v1/users/u2/permissions'])
    expect(counts(await importing('a.csv'))).to.include({ already_done: 1, requests: 0 })
  })

  it('keeps a skipped row to its own file', async () => {
    for (const name of ['a.csv', 'b.csv']) write(name, 'email', 'a@x.org')
    write('b.csv', 'email,name', 'a@x.org,A', 'b@x.org,B')
    behave = () => reset
    await importing('a.csv')
    expect(counts(await importing('a.csv', '--on-unknown', 'skip'))).to.include({ skipped: 1, unknown: 0 })
    expect(counts(await importing('a.csv'))).to.include({ skipped: 1, unknown: 0 })
    behave = () => json(201, { id: 'u9' })
    expect(counts(await importing('b.csv'))).to.include({ created: 1, unknown: 1 })
  })

  it('fails again for a create whose response has shown another name', async () => {
    behave = () => json(201, { id: 'u1', name: 'Eve' })
    write('a.csv', 'email,name', 'a@x.org,Ada')
    for (const requests of [1, 0]) {
      const run = await importing('a.csv')
      expect([run.exitCode, sent.length], run.stderr).to.deep.equal([9, requests])
    }
  })

  it('stops after the first user without an ID, also if IDs of others were read', async () => {
    read = json(200, { email: 'old@x.org' })
    behave = ({ method }) => json(method === 'PATCH' ? 200 : 201, {})
    write('old.csv', 'id,email,name', 'u7,old@x.org,Old')
    expect((await importing('old.csv')).exitCode).to.equal(0)
    write('new.csv', 'email,role', 'a@x.org,staff', 'b@x.org,staff')
    expect((await importing('new.csv')).exitCode).to.equal(9)
    expect(sent).to.have.length(1)
  })

  it('continues the import of a copy, and not that of a part', async () => {
    behave = (_, count) => (count > 2 ? limited({ 'retry-after': '600' }) : json(200, {}))
    write('all.csv', 'id,role', 'u1,staff', 'u2,staff', 'u3,staff')
    expect((await importing('all.csv', '--concurrency', '1', '--max-wait', '1s')).exitCode).to.equal(75)
    behave = () => json(200, {})
    write('part.csv', 'id,role', 'u1,staff', 'u2,staff')
    expect(counts(await importing('part.csv'))).to.include({ updated: 2, requests: 2 })
    expect((await chatctl('doctor')).stdout).to.contain('all.csv')
    behave = (_, count) => (count > 2 ? limited({ 'retry-after': '600' }) : json(200, {}))
    await importing('all.csv', '--restart', '--concurrency', '1', '--max-wait', '1s')
    behave = () => json(200, {})
    renameSync(path('all.csv'), path('copy.csv'))
    expect(counts(await importing('copy.csv'))).to.include({ already_done: 2, requests: 1 })
    expect(counts(await importing('copy.csv'))).to.include({ updated: 3, requests: 3 })
  })

  it('knows its own requests below a base URL that ends with a slash', async () => {
    behave = (_, count) => (count > 1 ? limited({ 'retry-after': '600' }) : json(200, {}))
    write('a.csv', 'id,role', 'u1,staff', 'u2,staff')
    const words = [
      'users',
      'import',
      path('a.csv'),
      '--yes',
      '--json',
      '--concurrency',
      '1',
      '--max-wait',
      '1s',
    ]
    const env = { CHATCTL_BASE_URL: `${server.url}/prefix/`, CHATCTL_API_KEY: 'some-key' }
    const run = () => runChatctl(sandbox, words, { env })
    expect((await run()).exitCode).to.equal(75)
    behave = () => json(200, {})
    expect(counts(await run())).to.include({ already_done: 1, requests: 1 })
  })

  it('keeps the password of a create that may have succeeded, also if the file is renamed', async () => {
    const password = () => /,([^,]+)\n$/.exec(readFileSync(path('out.csv'), 'utf8'))?.[1]
    const flags = ['--generate-passwords', '--results', path('out.csv')]
    write('a.csv', 'email', 'a@x.org')
    behave = () => reset
    await importing('a.csv', ...flags)
    const first = password()
    expect(first).to.match(/^.{20,}$/)
    renameSync(path('a.csv'), path('b.csv'))
    await importing('b.csv', ...flags)
    expect(password()).to.equal(first)
    read = json(200, { email: 'other@x.org' })
    await importing('b.csv', ...flags, '--on-unknown', 'created', '--id', 'u7', '--skip-invalid')
    expect(password()).to.equal(first)
  })

  it('reads a user beside an email once, also if the run ends before a change', async () => {
    read = answer(200, { 'content-type': 'application/json' }, '{"email":"a@x.org"}')
    write('a.csv', 'id,email,role', 'u1,a@x.org,staff', 'u2,b@x.org,staff')
    const run = await importing('a.csv', '--quota', '1/h', '--max-wait', '1s')
    expect([run.exitCode, sent], run.stderr).to.deep.equal([75, []])
    expect(counts(await importing('a.csv', '--dry-run'))).to.include({ reads: 1, requests: 3 })
  })
})
