import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Change } from '../../../src/contract/intent.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, serveHandler } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

describe('a user that the ledger knows', function () {
  this.timeout(20_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ allowsDuplicates: true })))
  const chatctl = (...words: string[]) => runChatctl(sandbox, words, { service: server })
  const users = (...words: string[]) => chatctl('users', ...words)
  const create = (email: string) =>
    users('create', '--no-password', '--allow-duplicates', ...(email === '' ? [] : ['--email', email]))
  const ids = () => [...server.report().users.keys()]

  /** Another run that has sent a change, and waits for its outcome. */
  async function begin(change: Partial<Change>) {
    const service = `${server.url}/`
    const about = { command: 'users apply', service }
    const run = new LedgerRun(Ledger.of(new Directories(sandbox.env), service), about, new SteppedClock())
    const common = { method: 'POST', path: '/v1/users', endpoint: undefined, user: undefined }
    const end = await run.begin({ ...common, ...change })
    return { run, end }
  }
  const assign = (id: string) =>
    begin({
      path: `/v1/users/${id}/permissions`,
      endpoint: 'assignPermissions',
      user: id,
      body: { role: 'a' },
    })

  const commands: [string, (user: string) => string[]][] = [
    ['get', (user) => ['get', user]],
    ['get, with other users', (user) => ['get', user, ids()[0] ?? '']],
    ['update', (user) => ['update', user, '--name', 'Ada L.']],
    ['permissions assign', (user) => ['permissions', 'assign', user, 'read:chat']],
  ]
  for (const [name, words] of commands) {
    it(`is found by email in any case: users ${name}`, async () => {
      for (const email of ['Ada@example.com', 'eve@example.com', 'eve@example.com']) await create(email)
      const found = await users(...words('ada@Example.com'), '--json')
      expect(found.exitCode, found.stderr).to.equal(0)
      expect(found.stdout).to.contain(`"id": "${ids()[0]}"`)
      const several = await users(...words('eve@example.com'))
      expect(several.stderr).to.contain(`with the IDs "${ids()[2]}" and "${ids()[1]}"`)
      const none = await users(...words('zoe@example.com'))
      expect(none.stderr).to.contain(
        'This machine knows no user with the email zoe@example.com, so the ID is needed',
      )
      for (const run of [several, none]) expect(run.exitCode).to.equal(name.includes('other') ? 9 : 2)
    })
  }

  for (const [name, words] of commands.slice(2))
    it(`is read before it is changed by email: users ${name}`, async () => {
      const email = 'ada@example.com'
      await create(email)
      const [id = ''] = ids()
      const change = async (user: string, ...flags: string[]) => {
        const { length } = server.requests
        const run = await users(...words(user), ...flags)
        return { ...run, methods: server.requests.slice(length).map(({ method }) => method) }
      }
      expect((await change(email)).methods)
        .to.have.length(2)
        .and.include('GET')
      expect((await change(id)).methods)
        .to.have.length(1)
        .and.not.include('GET')
      expect((await change(email, '--dry-run')).methods).to.deep.equal([])
      const user = server.report().users.get(id) ?? {}
      Object.assign(user, { email: undefined })
      expect((await change(email)).stderr).to.contain(
        `has no email for user ${id}, so ${email} is not checked`,
      )
      Object.assign(user, { email: 'zoe@example.com' })
      const other = await change(email)
      expectFailure(other, 7, `The user "${id}" has the email "zoe@example.com"`, 'name the ID')
      server.faults.set(`GET /v1/users/${id}`, failing(403, 'forbidden', 'No'))
      expectFailure(await change(email), 5, `Cannot check whether the user "${id}"`, 'name the ID')
      server.faults.clear()
      server.remove(id)
      const gone = await change(email)
      expectFailure(gone, 6, `The user "${id}", whose email was ${email}, no longer exists`)
      for (const { methods } of [other, gone]) expect(methods).to.deep.equal(['GET'])
    })

  it('is found by an ID with @, and if the ID is not known, by id:ID', async () => {
    const { run, end } = await assign('ada@x')
    end({ outcome: 'done', status: 200 })
    run.close()
    await create('')
    expectFailure(await users('get', 'ada@x'), 6, '/v1/users/ada%40x')
    expectFailure(await users('get', 'bob@x'), 2, 'so the ID is needed', 'Find it on the service', 'id:bob@x')
    for (const [, words] of commands) {
      const named = await users(...words('id:bob@x'))
      expect(named.stderr.replaceAll('%40', '@'), named.stderr).to.contain('bob@x').and.not.contain('needed')
      expect(server.requests.some(({ path }) => path.startsWith('/v1/users/bob%40x'))).to.equal(true)
    }
    const local = await runChatctl(sandbox, ['users', 'get', 'bob@x', '--profile', 'local'])
    expectFailure(local, 2, 'chatctl service users show bob@x --profile local')
  })

  it('is not guessed if a word is the email of one user and the ID of another', async () => {
    await create('ada@example.com')
    const { run } = await assign('ada@example.com')
    run.close()
    const words = `"ada@example.com" is the email of the user "${ids()[0]}" and the ID of another user`
    for (const [, command] of commands) {
      const { exitCode, stderr } = await users(...command('ada@example.com'))
      expect(stderr).to.contain(words)
      expect(exitCode).to.be.oneOf([2, 9])
    }
    expectFailure(await users('get', 'ada@example.com'), 2, 'id:ada@example.com')
  })

  it('is found in a state file first, and then in the ledger', async () => {
    await create('ada@example.com')
    await create('bob@example.com')
    const [ada, bob] = ids()
    writeFileSync(join(sandbox.home, 'users.csv'), 'email\neve@example.com\n')
    expect((await users('apply', 'users.csv', '--yes', '--no-password')).exitCode).to.equal(0)
    const words = ['eve@example.com', 'bob@example.com', ada ?? '']
    const found = await users('get', ...words, '--state', 'users.state.json', '--fields', 'id')
    expect(found.stdout, found.stderr).to.equal(`${ids()[2]}\n${bob}\n${ada}\n`)
    const adopted = await users('adopt', 'bob@example.com', '--fields', 'email,id,status')
    expect(adopted.stdout, adopted.stderr).to.equal(`bob@example.com\t${bob}\tadopted\n`)
  })

  it('has a warning if the outcome of its last change is unknown, or the change is in progress', async () => {
    await create('ada@example.com')
    const [id = ''] = ids()
    const { run } = await assign(id)
    const about = `The last change of role of the user "${id}" (users apply, `
    for (const words of ['in progress', 'an unknown outcome']) {
      for (const [, command] of commands) {
        const { stderr } = await users(...command(id))
        expect(stderr, words)
          .to.contain(about)
          .and.to.match(new RegExp(`\\) (is|has) ${words}`))
      }
      const outcome = words === 'in progress' ? 'in_progress' : 'unknown'
      const { stdout } = await chatctl(
        'activity',
        '--jq',
        '.[] | select(.command == "users apply") | .outcome',
      )
      expect(stdout).to.equal(`${outcome}\n`)
      expect((await chatctl('activity', '--unknown', '--json')).stdout.includes(id)).to.equal(
        outcome === 'unknown',
      )
      if (words === 'in progress') run.close()
    }
  })

  it('is in progress in users list, and in users create, while another run creates it', async () => {
    const { run } = await begin({ endpoint: 'createUser', body: { email: 'ada@example.com' } })
    const listed = () => users('list', '--fields', 'email,outcome')
    expect((await listed()).stdout).to.equal('ada@example.com\tin_progress\n')
    const again = await users('create', '--email', 'ada@example.com', '--no-password')
    const words = 'Another command on this machine has begun to create ada@example.com'
    expectFailure(again, 7, words, 'When it has ended', '--allow-duplicates')
    expect(server.requests).to.deep.equal([])
    run.close()
    expect((await listed()).stdout).to.equal('ada@example.com\tunknown\n')
  })

  it('is listed and erased without an email', async () => {
    await create('')
    const [id = ''] = ids()
    expect((await users('list', '--fields', 'email,id,outcome')).stdout).to.equal(`\t${id}\tdone\n`)
    const erased = await chatctl('activity', 'forget', id, '--yes', '--json')
    expect(JSON.parse(erased.stdout).map(({ path }: { path: string }) => path)).to.deep.equal(['/v1/users'])
    expect((await users('list', '--json')).stdout).to.equal('[]\n')
  })
})
