import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import type { Change } from '../../../src/ledger/record.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
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
    const about = { command: 'users apply', profile: null, service }
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

  it('is found by an ID with @, and not if the ID is not known', async () => {
    const { run, end } = await assign('ada@x')
    end({ outcome: 'done', status: 200 })
    run.close()
    expectFailure(await users('get', 'ada@x'), 6, '/v1/users/ada%40x')
    expectFailure(await users('get', 'bob@x'), 2, 'so the ID is needed', 'Find it on the service')
    const local = await runChatctl(sandbox, ['users', 'get', 'bob@x', '--profile', 'local'])
    expectFailure(local, 2, 'chatctl service users show bob@x --profile local')
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
    const again = await users('create', '--email', 'ada@example.com', '--no-password', '--dry-run')
    expect(again.stderr).to.contain('may have created ada@example.com: it is in progress')
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
