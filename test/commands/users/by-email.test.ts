import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Change } from '../../../src/contract/intent.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { type Clock, systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  delayed,
  failing,
  json,
  limited,
  reset,
  type Script,
  serveHandler,
  startScriptedServer,
} from '../../support/scripted-server.ts'
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

describe('users get with a response without any documented field', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function get(args: readonly string[], body: unknown): Promise<Run> {
    await server.serve(json(200, body))
    return runChatctl(sandbox, ['users', 'get', ...args], { service: server })
  }

  const enveloped = { data: { id: 'u1', password: 'canary', tags: ['\u001b[31m'] } }

  it('warns, and shows what the response contains', async () => {
    const warning = 'The response has none of the documented fields, so it is shown as it is'
    expect(await get(['u1'], { data: { id: 'u1', age: 5 } })).to.deep.equal({
      exitCode: 0,
      stdout: 'data.id\tu1\ndata.age\t5\n',
      stderr: `Warning: ${warning}\n`,
    })
    const json = await get(['u1', '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(enveloped)
    expect(JSON.parse(json.stderr)).to.deep.equal({ warning: { message: warning } })
    expect((await get(['u1', '--fields', 'id,name'], enveloped)).stdout).to.equal('')
  })

  it('quotes the first responses in one warning for several IDs, without secrets', async () => {
    const ids = ['u1', 'u2', 'u3', 'u4']
    const { stdout, stderr } = await get(ids, enveloped)
    expect(stdout).to.equal(ids.map((id) => `${id}\t\t\t\t\t\n`).join(''))
    const quoted = '{"data":{"id":"u1","password":"[redacted]","tags":["\\u001b[31m"]}}'
    expect(stderr).to.equal(
      `Warning: 4 responses have none of the documented fields, such as u1: ${quoted}\n`,
    )
    const json = await get([...ids, '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(ids.map(() => enveloped))
  })
})

describe('users get with several IDs', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function start(script: Script): Promise<HostOptions> {
    await server.serve(script)
    return { service: server }
  }

  async function get(
    args: readonly string[],
    script: Script,
    stdin = '',
    clock: Clock = systemClock,
  ): Promise<Run> {
    const options = await start(script)
    return runChatctl(sandbox, ['users', 'get', ...args], { ...options, stdin, host: { clock } })
  }

  /** Responds for an ID with the given behavior, or with the user of that ID. */
  function users(others: Record<string, Behavior> = {}, ms?: (id: string) => number): Script {
    return {
      choose: ({ path }) => {
        const id = path.split('/').at(-1) ?? ''
        const found = others[id] ?? json(200, userOf(id))
        return ms ? delayed(ms(id), found) : found
      },
    }
  }

  const missing = (id: string) => failing(404, 'not_found', `There is no user ${id}`)
  const idsOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t')[0])

  it('prints one header in CSV, and one array in JSON', async () => {
    const csv = await get(['a', 'b', '-o', 'csv', '--fields', 'id,email'], users())
    expect(csv.stdout).to.equal('id,email\na,a@example.com\nb,b@example.com\n')
    await server.close()
    const whole = await get(['a', 'b', '--json'], users())
    expect(JSON.parse(whole.stdout)).to.deep.equal([userOf('a'), userOf('b')])
  })

  it('warns about each user that cannot be read, continues, and exits 9', async () => {
    const script = users({ b: missing('b'), d: failing(403, 'forbidden', 'Not yours') })
    const run = await get(['a', 'b', 'c', 'd', 'e'], script)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'c', 'e'])
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.equal(
      'Warning: Cannot read user b: There is no user b\n' +
        'Warning: Cannot read user d: Not yours\n' +
        'Error: 2 of 5 users could not be read\n',
    )
  })

  it('prints warnings and the error as JSON with --json', async () => {
    const run = await get(['a', 'b', '--json'], users({ b: missing('b') }))
    expect(JSON.parse(run.stdout)).to.deep.equal([userOf('a')])
    const [warning, error] = run.stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(warning).to.deep.equal({ warning: { message: 'Cannot read user b: There is no user b' } })
    expect(error.error).to.deep.include({ code: 'incomplete', message: '1 of 2 users could not be read' })
  })

  it('exits with the common code if all requests fail alike, else with 9', async () => {
    const run = await get(['a', 'b', '--json'], users({ a: missing('a'), b: missing('b') }))
    expect(run).to.include({ exitCode: 6, stdout: '' })
    expect(run.stderr.trimEnd().split('\n')).to.have.length(3)
    await server.close()
    const mixed = await get(['a', 'b'], users({ a: missing('a'), b: failing(403, 'forbidden', 'No') }))
    expectFailure(mixed, 9, '2 of 2 users could not be read')
  })

  it('prints one error if there is only one user', async () => {
    const run = await get(['-'], users({ a: missing('a') }), 'a\n')
    expectFailure(run, 6)
    expect(run.stderr).to.equal(`Error: There is no user a (404, GET ${server.url}/v1/users/a)\n`)
  })

  it('stops immediately if the credential is refused, and keeps earlier rows', async () => {
    const script: Script = {
      choose: (request, index) =>
        index < 3
          ? json(200, userOf(request.path.split('/').at(-1) ?? ''))
          : failing(401, 'unauthorized', 'No'),
    }
    const ids = Array.from({ length: 50 }, (_, index) => `u${index}`)
    for (const form of ['tsv', 'json']) {
      const run = await get(['-', '--concurrency', '1', '-o', form], script, ids.join(' '))
      expect(run.exitCode).to.equal(4)
      expect(run.stdout.match(/u[0-2]@/g)).to.have.length(3)
      expect(server.requests).to.have.length(4)
      await server.close()
    }
  })

  it('stops if the service cannot be reached', async () => {
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1', '--retries', '0'], reset)
    expectFailure(run, 69, 'No response from')
    expect(server.requests).to.have.length(1)
  })

  it('exits 75 if the wait is too long, and names the --max-wait to use', async () => {
    const script: Script = {
      choose: (request, index) =>
        index < 2
          ? json(200, userOf(request.path.split('/').at(-1) ?? ''))
          : limited({ 'retry-after': '3600' }),
    }
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1'], script)
    expect(run.exitCode).to.equal(75)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'b'])
    expect(run.stderr).to.contain('--max-wait 1h')
    expect(server.requests).to.have.length(3)
  })

  it('rejects an invalid ID with its location, and sends nothing if it is an argument', async () => {
    const refused = await get(['-', '--concurrency', '1'], users(), '\n\n..\n')
    expectFailure(refused, 2, 'line 3 of stdin: the id must not be ".."')
    await server.close()
    expectFailure(await get(['a', '', 'b'], users()), 2, 'The id must not be empty')
    expect(server.requests).to.have.length(0)
    await server.close()
    expectFailure(await get(['-', '-'], users(), 'a'), 2, 'was given twice')
    await server.close()
    const options = await start(users())
    const run = await runChatctl(sandbox, ['users', 'get', '-'], {
      ...options,
      stdin: Buffer.from('a\n\xff', 'latin1'),
    })
    expect(run).to.include({ exitCode: 2 })
    expect(run.stderr).to.contain('stdin is not UTF-8 text')
  })

  it('rejects a field that no user has before it prints a row', async () => {
    expectFailure(await get(['a', 'b', '--fields', 'id,nmae'], users()), 2, 'Unknown field "nmae"')
    await server.close()
    const some = await get(
      ['a', 'b', '--fields', 'id,x_extra'],
      users({ b: json(200, { ...userOf('b'), x_extra: 1 }) }),
    )
    expect(some.stdout).to.equal('a\t\nb\t1\n')
  })
})

function userOf(id: string) {
  return {
    id,
    email: `${id}@example.com`,
    name: id,
    created_at: '2026-01-02T03:04:05Z',
    metadata: {},
    settings: {},
  }
}
