import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hashOfField } from '../../../src/contract/managed-fields.ts'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, failing, json, startScriptedServer } from '../../support/scripted-server.ts'

describe('users diff', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  const ada = { id: 'usr_ada', email: 'ada@example.com', name: 'Ada' }
  const bob = {
    id: 'usr_bob',
    email: 'bob@example.com',
    name: 'Bob',
    metadata: { team: 'a', api_key: 'old-one' },
  }

  /** Responds with users by ID. The requests are listed as `GET usr_ada`. */
  const requests: string[] = []
  async function serve(users: Record<string, Behavior>): Promise<void> {
    requests.length = 0
    await server.serve({
      choose: ({ method, path }) => {
        const id = path.split('/').at(-1) ?? ''
        requests.push(`${method} ${id}`)
        return users[id] ?? failing(404, 'not_found', 'There is no such user')
      },
    })
  }

  function write(name: string, text: string): void {
    writeFileSync(join(sandbox.home, name), text)
  }

  /** A state file with the users of whom these values were sent. */
  function writeState(
    users: { email: string; id?: string; sent?: Record<string, unknown>; more?: object }[],
  ): void {
    const lines = users.map(({ email, id, sent = {}, more }) => {
      const hashes = Object.fromEntries(
        Object.entries(sent).map(([path, to]) => [path, hashOfField(path, to)]),
      )
      return JSON.stringify({ email, id, hashes, ...more })
    })
    const head = `{"format":"chatctl-users-state","v":1,"service":"${server.url}/","serial":4,"users":[\n`
    write('users.state.json', `${head}${lines.join(',\n')}\n]}\n`)
  }

  function diff(args: readonly string[], options: HostOptions = {}): Promise<Run> {
    return runChatctl(sandbox, ['users', 'diff', ...args], { cwd: sandbox.home, service: server, ...options })
  }

  const file = JSON.stringify([
    { email: 'ada@example.com', name: 'Ada', role: 'admin' },
    { email: 'bob@example.com', name: 'Robert', metadata: { team: 'b', api_key: 'new-one' } },
    { email: 'new@example.com', name: 'New' },
  ])

  it('does not take a response without any field of a user for a user without values', async () => {
    await serve({ usr_ada: json(200, { result: ada }) })
    write('users.json', JSON.stringify([{ email: 'ada@example.com', name: 'Ada' }]))
    writeState([{ email: 'ada@example.com', id: 'usr_ada' }])
    const run = await diff(['users.json'])
    expect(run.exitCode, run.stdout).to.equal(9)
    expect(run.stdout + run.stderr).to.contain('contains no field of a user')
  })

  it('shows what differs from the service, and from what was last sent', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, bob) })
    write('users.json', file)
    writeState([
      { email: 'ada@example.com', id: 'usr_ada', sent: { role: 'admin' } },
      { email: 'bob@example.com', id: 'usr_bob', sent: { name: 'Rob', 'metadata.team': 'a' } },
      { email: 'gone@example.com', id: 'usr_gone' },
    ])
    expect(await diff(['users.json'])).to.include({
      exitCode: 0,
      stdout: [
        '! bob@example.com',
        '    name              "Bob"        → "Robert" (drifted)',
        '    metadata.team     "a"          → "b"',
        '    metadata.api_key  "[redacted]" → "[redacted]"',
        '+ create new@example.com  name "New"',
        '- gone@example.com unmanaged: in the state file, but not in the files',
        '',
        '1 to create, 1 to change (1 drifted), 1 unchanged, 1 unmanaged.',
        'Drifted: someone else has changed a value since chatctl sent it.',
        'Unmanaged users remain: the service offers no way to delete a user.\n',
      ].join('\n'),
    })
    expect(requests.toSorted()).to.deep.equal(['GET usr_ada', 'GET usr_bob'])
  })

  it('prints one JSON object, and exits 10 with --exit-code', async () => {
    await serve({ usr_bob: json(200, bob) })
    write('users.csv', 'email,name,role\nbob@example.com,Robert,admin\n')
    writeState([{ email: 'bob@example.com', id: 'usr_bob' }])
    const { exitCode, stdout } = await diff(['users.csv', '--json', '--exit-code'])
    expect(exitCode).to.equal(10)
    const { counts, ...rest } = JSON.parse(stdout)
    expect(counts).to.include({ change: 1, unchanged: 0 })
    expect(rest).to.deep.equal({
      service: `${server.url}/`,
      state: 'users.state.json',
      users: [
        {
          email: 'bob@example.com',
          id: 'usr_bob',
          action: 'change',
          changes: [
            { path: 'name', from: 'Bob', to: 'Robert' },
            { path: 'role', from: null, to: 'admin', compared_with: 'unknown' },
          ],
        },
      ],
      unmanaged: [],
    })
  })

  it('exits 10 with --exit-code if a user is missing, and 9 if one could not be read', async () => {
    await serve({ usr_ada: failing(500, 'internal', 'Broken') })
    write('users.csv', 'email,name\nada@example.com,Ada\nbob@example.com,Bob\n')
    writeState([
      { email: 'ada@example.com', id: 'usr_ada' },
      { email: 'bob@example.com', id: 'usr_bob' },
    ])
    const failed = await diff(['users.csv', '--exit-code', '--retries', '0'])
    expect(failed.exitCode).to.equal(9)
    expect(failed.stderr).to.include(
      'Error: 1 of 2 known users could not be compared, so their differences are unknown',
    )
    expect(failed.stdout).to.include('! ada@example.com failed: ').and.include('! bob@example.com missing: ')

    write('users.csv', 'email,name\nbob@example.com,Bob\n')
    expect((await diff(['users.csv', '--exit-code'])).exitCode).to.equal(10)
  })

  it('reads no user with --no-refresh, and says so', async () => {
    await serve({})
    write('users.json', file)
    writeState([
      { email: 'ada@example.com', id: 'usr_ada', sent: { name: 'Ada', role: 'admin' } },
      { email: 'bob@example.com', id: 'usr_bob', sent: { name: 'Bob' } },
    ])
    const { exitCode, stdout, stderr } = await diff(['users.json', '--no-refresh'])
    expect({ exitCode, requests }).to.deep.equal({ exitCode: 0, requests: [] })
    expect(stdout.split('\n').slice(0, 6)).to.deep.equal([
      '~ bob@example.com',
      '    name              not as last sent   → "Robert"',
      '    metadata.team     last value unknown → "b"',
      '    metadata.api_key  last value unknown → "[redacted]"',
      '+ create new@example.com  name "New"',
      '',
    ])
    expect(stdout).to.include('1 to create, 1 to change, 1 not read.')
    expect(stderr).to.include('no user was read')
  })

  it('reads the least recently read users with --limit-reads, and remembers when', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, { ...bob, name: 'Eve' }) })
    write('users.csv', 'email,name\nada@example.com,Ada\nbob@example.com,Bob\n')
    writeState([
      { email: 'ada@example.com', id: 'usr_ada', sent: { name: 'Ada' } },
      {
        email: 'bob@example.com',
        id: 'usr_bob',
        sent: { name: 'Bob' },
        more: { checkedAt: '2026-01-01T00:00:00.000Z' },
      },
    ])
    const first = await diff(['users.csv', '--limit-reads', '1'])
    expect(first.stdout).to.equal('No changes known: 1 unchanged, 1 not read.\n')
    const second = await diff(['users.csv', '--limit-reads', '1'])
    expect(second.stdout).to.include('! bob@example.com\n    name  "Eve" → "Bob" (drifted)')
    expect(requests).to.deep.equal(['GET usr_ada', 'GET usr_bob'])
    const { serial, users } = JSON.parse(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8'))
    expect(serial).to.equal(6)
    expect(users[0].checkedAt).to.match(/^20\d\d-/)
  })

  it('shows drift that an earlier run with --limit-reads found until the user is read again', async () => {
    const users = { usr_ada: json(200, { ...ada, name: 'Eve' }), usr_bob: json(200, bob) }
    await serve(users)
    write('users.csv', 'email,name\nada@example.com,Ada\nbob@example.com,Bob\ncid@example.com,Cid\n')
    writeState([
      { email: 'ada@example.com', id: 'usr_ada', sent: { name: 'Ada' } },
      { email: 'cid@example.com', id: 'usr_cid', sent: { name: 'Cid' } },
      {
        email: 'bob@example.com',
        id: 'usr_bob',
        sent: { name: 'Bob' },
        more: { checkedAt: '2026-01-01T00:00:00.000Z' },
      },
    ])
    const codes: (number | null)[] = []
    let last = ''
    const check = async () => {
      const { exitCode, stdout } = await diff(['users.csv', '--limit-reads', '1', '--exit-code'])
      codes.push(exitCode)
      last = stdout
    }
    for (const _ of [1, 2, 3]) await check()
    expect(codes).to.deep.equal([10, 10, 10])
    expect(last).to.include('ada@example.com').and.include('(drifted)')
    expect(last).to.include('! cid@example.com missing')
    users.usr_ada = json(200, ada)
    await check()
    expect(last).not.to.include('ada@example.com')
  })

  it('says after Ctrl-C how much was compared', async () => {
    await server.serve({
      choose: () => {
        run.interrupt()
        return json(200, ada)
      },
    })
    write('users.csv', 'email,name\nada@example.com,Ada\nbob@example.com,Bob\n')
    writeState([
      { email: 'ada@example.com', id: 'usr_ada' },
      { email: 'bob@example.com', id: 'usr_bob' },
    ])
    const run = startChatctl(sandbox, ['users', 'diff', 'users.csv'], { service: server })
    const { exitCode, stdout, stderr } = await run.ended
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 130, stdout: '' })
    expect(stderr).to.include('Interrupted: 0 of 2 users were compared. Nothing was changed.')
  })

  it('writes nothing beside the files', async () => {
    await serve({ usr_ada: json(200, ada) })
    write('users.csv', 'email,name\nada@example.com,Adele\n')
    writeState([{ email: 'ada@example.com', id: 'usr_ada' }])
    const before = readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')
    await diff(['users.csv'])
    expect(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')).to.equal(before)
    expect(existsSync(join(sandbox.home, 'users.state.json.lock'))).to.equal(false)
  })

  it('saves a plan that it can show without the service', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, bob) })
    write('users.json', file)
    writeState([
      { email: 'ada@example.com', id: 'usr_ada', sent: { role: 'admin' } },
      { email: 'bob@example.com', id: 'usr_bob' },
    ])
    const made = await diff(['users.json', '--save', 'users.plan', '--json'])
    expect(made.stderr).to.include('users apply users.plan')
    const shown = await diff(['users.plan', '--json', '--exit-code'])
    expect(shown.exitCode).to.equal(10)
    expect(JSON.parse(shown.stdout)).to.deep.equal(JSON.parse(made.stdout))
    expect(requests).to.have.length(2)
    const refused = await diff(['users.plan', '--file', 'users.json'])
    expectFailure(refused, 2, 'cannot be combined with other files')
    expectFailure(await diff(['users.json', '--save', 'users.json']), 2, 'exists and is not a plan')
  })

  it('names the state file that does not exist yet', async () => {
    await serve({})
    write('users.csv', 'email,name\nada@example.com,Ada\n')
    const { stdout, stderr } = await diff(['users.csv'])
    expect(stdout).to.include('1 to create.')
    expect(stderr.replace(/\s+/g, ' ')).to.include(
      'There is no state file users.state.json yet, so every user is new that was not created from this machine. To record users who exist, run: chatctl users adopt EMAIL=ID --state users.state.json',
    )
  })

  it('reads a map in YAML from stdin with --format, and stays within --quota', async () => {
    await serve({ usr_ada: json(200, ada) })
    writeState([{ email: 'ada@example.com', id: 'usr_ada' }])
    const clock = hurriedClock()
    const stdin = 'x: &x { name: Ada }\nusers:\n  - { <<: *x, email: ada@example.com }\n'
    const run = await diff(['-', '--format', 'yaml', '--quota', '1/h'], { stdin, host: { clock } })
    expect(run).to.include({ exitCode: 0, stdout: 'No changes: 1 user as in the files.\n' })

    write('users.csv', 'email,name\nada@example.com,Ada\nbob@example.com,Bob\n')
    writeState([
      { email: 'ada@example.com', id: 'usr_ada' },
      { email: 'bob@example.com', id: 'usr_bob' },
    ])
    const exhausted = await diff(['users.csv', '--quota', '1/h', '--max-wait', '1m'], { host: { clock } })
    expectFailure(exhausted, 75, 'the quota is used up')
  })

  it('sends nothing if the files or the state file are invalid', async () => {
    await serve({})
    write('users.csv', 'email,name\nada@,Ada\n')
    writeState([{ email: 'ada@example.com', id: 'usr_ada' }])
    expectFailure(await diff(['users.csv']), 2, 'users.csv:2:1: "ada@" is not a valid email address')
    write('users.csv', 'email,name\nada@example.com,Ada\n')
    write(
      'users.state.json',
      '{"format":"chatctl-users-state","v":1,"service":"https://other.example","serial":1,"users":[\n]}\n',
    )
    expectFailure(await diff(['users.csv']), 7, 'https://other.example')
    expectFailure(await diff([]), 2, 'No file of users was given')
    expectFailure(await diff(['users.csv', 'more.csv']), 2, 'Unexpected argument more.csv')
    expect(requests).to.deep.equal([])
  })
})
