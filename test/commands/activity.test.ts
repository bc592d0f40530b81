import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UseLock } from '../../src/system/files/use-lock.ts'
import { hurriedClock } from '../client/capture.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { ledgersOf, recordedIn, recordOf } from '../support/recorded-changes.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { deadUrl, failing, json, startScriptedServer, thenClosed } from '../support/scripted-server.ts'
import { SteppedClock } from '../support/stepped-clock.ts'

describe('activity', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const clock = perTest(
    () => new SteppedClock(),
    () => {},
  )
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    runChatctl(sandbox, args, { env, host: { clock } })
  const shown = async (...args: string[]) => JSON.parse((await run(['activity', '--json', ...args])).stdout)

  /** Sends a change, an hour after the last one. */
  async function change(url: string, ...args: string[]): Promise<void> {
    clock.pass(3_600_000)
    await run(args, { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', CHATCTL_RETRIES: '0' })
  }

  const rename = (id: string) => ['users', 'update', id, '--name', 'Ada']

  it('fails if the ledger cannot be read', async () => {
    const url = await server.serve(json(200, {}))
    await change(url, ...rename('u1'))
    const [path = ''] = ledgersOf(sandbox)
    rmSync(path)
    mkdirSync(path)
    for (const args of [['activity'], ['users', 'list', '--base-url', url]]) {
      const { exitCode, stderr } = await run(args)
      expect(stderr).to.match(/^Error: Cannot read the ledger .*: .*directory/)
      expect(exitCode).to.equal(1)
    }
  })

  it('shows the changes oldest first, in a table and as JSON with every field', async () => {
    const url = await server.serve(json(200, { id: 'u1' }, { 'x-request-id': 'r1' }))
    await change(url, 'settings', 'api', 'set', '--version', 'v2')
    await change(url, ...rename('u1'))
    const all = await shown()
    const ids = all.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).to.equal(2)
    expect(all).to.deep.equal([
      {
        id: ids[0],
        at: '2026-03-01T13:00:00.000Z',
        profile: null,
        service: `${url}/`,
        command: 'settings api set',
        method: 'POST',
        path: '/v1/settings/api',
        email: null,
        user_id: null,
        fields: ['version'],
        values: { version: 'v2' },
        outcome: 'done',
        status: 200,
        request_id: 'r1',
        error: null,
        change: 'version: v2',
      },
      {
        id: ids[1],
        at: '2026-03-01T14:00:00.000Z',
        profile: null,
        service: `${url}/`,
        command: 'users update',
        method: 'PATCH',
        path: '/v1/users/u1',
        email: null,
        user_id: 'u1',
        fields: ['name'],
        outcome: 'done',
        status: 200,
        request_id: 'r1',
        error: null,
        change: 'u1: name',
      },
    ])
    const { stdout } = await runChatctl(sandbox, ['activity', '--no-color'], { terminal: { columns: 80 } })
    expect(stdout.replaceAll('\r', '').trimEnd().split('\n')).to.deep.equal([
      'AT                COMMAND           CHANGE       OUTCOME',
      '2026-03-01 13:00  settings api set  version: v2  done',
      '2026-03-01 14:00  users update      u1: name     done',
    ])
  })

  it('shows only changes since a time with --since', async () => {
    const url = await server.serve(json(200, {}))
    await change(url, ...rename('u1'))
    await change(url, ...rename('u2'))
    const since = async (time: string) =>
      (await shown('--since', time)).map(({ user_id: id }: { user_id: string }) => id)
    expect(await since('30m')).to.deep.equal(['u2'])
    expect(await since('2026-03-01T13:00:00Z')).to.deep.equal(['u1', 'u2'])
    expect(await since('0m')).to.deep.equal(['u2'])
    expectFailure(await run(['activity', '--since', 'now']), 2, '"now" is not a date')
  })

  it('shows the newest changes with --limit, and says that there are older ones', async () => {
    const url = await server.serve(json(200, {}))
    for (const id of ['u1', 'u2', 'u3']) await change(url, ...rename(id))
    const { stdout, stderr } = await run(['activity', '--limit', '2', '--fields', 'user_id'])
    expect(stdout).to.equal('u2\nu3\n')
    expect(stderr).to.equal('There are older changes. Show them with: --limit 4\n')
    expect((await run(['activity', '--limit', '3'])).stderr).to.equal('')
  })

  it('shows only changes with a profile or to a service, also of a profile that was removed', async () => {
    const url = await server.serve(json(200, { id: 'u1' }))
    await change(url, ...rename('u1'))
    await change('', 'settings', 'set', 'app_name=A', '--profile', 'local')
    const ids = async (...args: string[]) =>
      (await shown(...args)).map(({ command }: { command: string }) => command)
    expect(await ids()).to.deep.equal(['users update', 'settings set'])
    expect(await ids('--profile', 'local')).to.deep.equal(['settings set'])
    expect(await ids('--profile', 'gone')).to.deep.equal([])
    expect(await ids('--base-url', url)).to.deep.equal(['users update'])
  })

  describe('with --unknown', () => {
    it('shows only changes with an unknown outcome, and how to check each with a command for its service', async () => {
      const url = await server.serve(failing(500, 'down', 'no'))
      await change(url, ...rename('u1'))
      await change(url, ...rename('u1'))
      await change(url, 'settings', 'api', 'set', '--version', 'v2')
      await change(await deadUrl(), ...rename('u2'))
      const { stdout, stderr } = await run(['activity', '--unknown', '--fields', 'command,outcome,status'])
      expect(stdout).to.equal(
        'users update\tunknown\t500\nusers update\tunknown\t500\nsettings api set\tunknown\t500\n',
      )
      expect(stderr.trimEnd().split('\n')).to.deep.equal([
        `Check the user with: chatctl users get u1 --base-url ${url}/`,
        'The API configuration cannot be read back. To send it again, run the same command again.',
      ])
      expect(await shown('--unknown')).to.have.nested.property(
        '[0].next_step',
        `Check the user with: chatctl users get u1 --base-url ${url}/`,
      )
    })

    it('agrees with the error of a change that may have been made before its retry was refused', async () => {
      const url = await server.serve([thenClosed(server, failing(500, 'down', 'no'))])
      const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key' }
      const args = ['users', 'settings', 'set', '--theme', 'dark']
      const { exitCode, stderr } = await runChatctl(sandbox, args, { env, host: { clock: hurriedClock() } })
      expect(stderr).to.match(
        /^Error: The outcome of the change is unknown: cannot reach http.*: connection refused$/m,
      )
      expect(stderr).to.match(/^Hint: +Check your preferences with: /m)
      expect(exitCode).to.equal(69)
      expect(await shown('--unknown')).to.have.nested.property('[0].method', 'PUT')
    })

    it('names the profile if the change was sent with it', async () => {
      const url = await server.serve(failing(500, 'down', 'no'))
      const login = 'auth login --profile work --with-api-key --insecure-storage --no-verify'.split(' ')
      await runChatctl(sandbox, [...login, '--base-url', url], { stdin: 'some-key' })
      await run([...rename('u1'), '--profile', 'work'])
      const [entry] = await shown('--unknown')
      expect(entry.next_step).to.equal('Check the user with: chatctl users get u1 --profile work')
    })
  })

  it('skips lines that it cannot read, with a warning', async () => {
    await change(await server.serve(json(200, {})), ...rename('u1'))
    appendFileSync(ledgersOf(sandbox)[0] ?? '', '{"v":1\n')
    const { exitCode, stdout, stderr } = await run(['activity', '--fields', 'user_id'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 0, stdout: 'u1\n' })
    expect(stderr).to.equal('Warning: 1 line of the ledger cannot be read and is skipped\n')
  })

  it('says that there are no changes if nothing was sent', async () => {
    const { exitCode, stdout } = await runChatctl(sandbox, ['activity', '--no-color'], {
      terminal: { columns: 80 },
    })
    expect(exitCode).to.equal(0)
    expect(stdout.trim()).to.equal('No matching changes.')
  })
})

describe('activity forget', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const run = (url: string, ...args: string[]) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key' } })
  const forget = (url: string, ...args: string[]) => run(url, 'activity', 'forget', ...args)

  /** Two users, of whom one has the email of the other in its name, and a change of settings. */
  async function begin() {
    const url = await server.serve({
      choose: ({ body }) => json(201, { id: body.includes('"bob@x.example"}') ? 'u2' : 'u1' }),
    })
    const api = (path: string, body: object) => run(url, 'api', 'POST', path, '--data', JSON.stringify(body))
    await api('/v1/users', { email: 'Ada@x.example', name: 'Ada' })
    await api('/v1/users', { email: 'bob@x.example' })
    await api('/v1/users/u1/permissions', { role: 'admin' })
    await api('/v1/users/u2/permissions', { role: 'admin' })
    await api('/v1/settings/api', { version: 'ada@x.example' })
    return url
  }

  for (const user of ['ADA@x.example', 'u1'])
    it(`erases all changes that name the user ${user}, and no others`, async () => {
      const url = await begin()
      const dry = await forget(url, user, '--dry-run', '--fields', 'path')
      const paths = '/v1/users\n/v1/users/u1/permissions\n'
      expect(dry).to.include({ exitCode: 0, stdout: paths })
      expect(recordedIn(sandbox)).to.have.lengthOf(5)
      expectFailure(await forget(url, user), 3, '--yes')
      expect(await forget(url, user, '--yes', '--fields', 'path')).to.include({ exitCode: 0, stdout: paths })
      expect(recordedIn(sandbox).map(({ user_id: id, path, outcome }) => [id, path, outcome])).to.deep.equal([
        ['u2', '/v1/users', 'done'],
        ['u2', '/v1/users/u2/permissions', 'done'],
        [null, '/v1/settings/api', 'done'],
      ])
      expect(recordOf(sandbox)).not.to.match(/u1|Ada/)
      expect((await forget(url, user, '--yes')).stderr).to.contain('Erased 0 changes')
      await run(url, 'users', 'update', 'u2', '--name', 'Bob')
      expect(recordedIn(sandbox)).to.have.lengthOf(4)
    })

  it('is refused while a run sends changes to the service', async () => {
    const url = await begin()
    const lock = new UseLock(ledgersOf(sandbox)[0] ?? '')
    lock.hold('run')
    const text = recordOf(sandbox)
    expectFailure(await forget(url, 'u1', '--yes'), 7, 'is sending changes', 'Nothing was erased')
    expect(recordOf(sandbox)).to.equal(text)
    lock.close()
    expect(await forget(url, 'u1', '--yes')).to.include({ exitCode: 0 })
  })
})

describe('users list', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const note = 'The interface of the service cannot list users'
  const run = (url: string, ...args: string[]) =>
    runChatctl(sandbox, args, {
      env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', CHATCTL_RETRIES: '0' },
    })
  const create = (url: string, email: string) =>
    run(url, 'users', 'create', '--email', email, '--generate-password', '--allow-duplicates')

  it('shows users whose creation is done or unknown, newest first and each once, and says what it is', async () => {
    const url = await server.serve([
      json(201, { id: 'u1' }),
      failing(422, 'invalid', 'no'),
      failing(500, 'down', 'no'),
      failing(500, 'down', 'no'),
      json(201, { id: 'u4' }),
    ])
    for (const name of ['ada', 'bob', 'cid', 'dan', 'DAN']) await create(url, `${name}@x.example`)
    await run(url, 'users', 'update', 'u1', '--name', 'Ada')
    const { exitCode, stdout, stderr } = await run(url, 'users', 'list', '-o', 'csv')
    expect(exitCode).to.equal(0)
    const found = stdout
      .replaceAll(/\d{4}-[\d\-T:.]+Z/g, 'TIME')
      .trim()
      .split(/\r?\n/)
    expect(found).to.deep.equal([
      'email,id,created_at,source,outcome',
      'DAN@x.example,u4,TIME,ledger,done',
      'cid@x.example,,TIME,ledger,unknown',
      'ada@x.example,u1,TIME,ledger,done',
    ])
    expect(stderr.split(note)).to.have.length(2)
  })

  it('shows two users that have the same email, and an attempt without an outcome once', async () => {
    const responses = [json(201, { id: 'u1' }), json(201, { id: 'u2' })]
    const url = await server.serve([failing(500, 'down', 'no'), ...responses, json(201, { id: 'u2' })])
    for (const _ of [1, 2, 3, 4]) await create(url, 'ada@x.example')
    const { stdout } = await run(url, 'users', 'list', '--fields', 'email,id,outcome')
    expect(stdout).to.equal('ada@x.example\tu2\tdone\nada@x.example\tu1\tdone\n')
  })

  it('keeps the ID of a user if a later attempt to create the same user has an unknown outcome', async () => {
    const url = await server.serve([json(201, { id: 'u1' }), failing(500, 'down', 'no')])
    for (const email of ['ada@x.example', 'Ada@x.example', 'ada@x.example']) await create(url, email)
    const { stdout } = await run(url, 'users', 'list', '--fields', 'email,id,outcome')
    expect(stdout).to.equal('ada@x.example\t\tunknown\nada@x.example\tu1\tdone\n')
  })

  it('shows only users of the selected service, and sends no request', async () => {
    const url = await server.serve(json(201, { id: 'u1' }))
    await create(url, 'ada@x.example')
    const elsewhere = await run('https://other.example', 'users', 'list', '--json')
    expect(JSON.parse(elsewhere.stdout)).to.deep.equal([])
    expect(elsewhere.stderr).to.contain(note)
    expect((await run(url, 'users', 'list', '--fields', 'id')).stdout).to.equal('u1\n')
    expect(server.requests).to.have.length(1)
  })
})

describe('users list --state', () => {
  const sandbox = perTest(createSandbox)
  const run = (...args: string[]) =>
    runChatctl(sandbox, ['users', 'list', '--state', 'team.state.json', ...args], {
      env: { CHATCTL_BASE_URL: 'https://chat.example', CHATCTL_API_KEY: 'some-key' },
    })
  const write = (service: string, users: readonly object[]) =>
    writeFileSync(
      join(sandbox.home, 'team.state.json'),
      `{"format":"chatctl-users-state","v":1,"service":"${service}","serial":1,"users":[\n${users.map((user) => JSON.stringify(user)).join(',\n')}\n]}\n`,
    )

  it('shows the users of the file, sorted by email address', async () => {
    write('https://chat.example/', [
      { email: 'ada@x.example', id: 'u1', hashes: {} },
      { email: 'Bob@x.example', creation: 'unknown', hashes: {} },
    ])
    const { exitCode, stdout, stderr } = await run('-o', 'csv')
    expect(exitCode, stderr).to.equal(0)
    expect(stdout.trim().split(/\r?\n/)).to.deep.equal([
      'email,id,created_at,source,outcome',
      'ada@x.example,u1,,state,done',
      'Bob@x.example,,,state,unknown',
    ])
    expect(stderr).to.contain('cannot list users. These are the users in team.state.json.')
  })

  for (const count of [0, 1, 1000])
    it(`prints ${count} users as one JSON list`, async () => {
      const users = Array.from({ length: count }, (_, index) => ({
        email: `user${1000 + index}@x.example`,
        id: `u${index}`,
      }))
      write(
        'https://chat.example/',
        users.map((user) => ({ ...user, hashes: {} })),
      )
      const { stdout } = await run('--json', '--fields', 'email,id')
      expect(stdout).to.equal(`${JSON.stringify(users, null, 2)}\n`)
    })

  it('refuses a file that does not exist, or belongs to another service', async () => {
    expectFailure(await run(), 2, 'The state file team.state.json does not exist')
    write('https://other.example/', [])
    expectFailure(await run(), 7, 'https://other.example')
  })
})

describe('settings api get', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const clock = perTest(
    () => new SteppedClock(),
    () => {},
  )
  const run = (url: string, ...args: string[]) => {
    clock.pass(1000)
    const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', CHATCTL_RETRIES: '0' }
    return runChatctl(sandbox, args, { env, host: { clock } })
  }
  const set = ['settings', 'api', 'set', '--version']
  const get = ['settings', 'api', 'get', '--last-sent']
  const viaApi = ['api', 'POST', '/v1/settings/api', '--field']

  it('exits 2 without --last-sent, because the service cannot be asked', async () => {
    const done = await run('https://a.example', 'settings', 'api', 'get')
    expectFailure(done, 2, 'cannot read the API configuration', 'chatctl settings api get --last-sent')
  })

  it('exits 6 if nothing was sent to this service', async () => {
    await run(await server.serve(json(200, {})), ...set, 'v2')
    expectFailure(await run('https://a.example', ...get), 6, 'No API configuration was sent to this service')
  })

  it('shows what was last sent, when, and by which command', async () => {
    const url = await server.serve([json(200, {}), json(200, {}), failing(422, 'invalid', 'no')])
    for (const version of ['v1', 'v2', 'v3']) await run(url, ...set, version)
    const { exitCode, stdout, stderr } = await run(url, ...get, '--json')
    expect(exitCode).to.equal(0)
    expect(JSON.parse(stdout)).to.deep.equal({ version: 'v2' })
    expect(stderr).to.contain('at 2026-03-01T12:00:02.000Z by \\"chatctl settings api set\\"')
    expect(server.requests).to.have.length(3)
  })

  it('shows what chatctl api has sent later', async () => {
    const url = await server.serve(json(200, {}))
    await run(url, ...set, 'v1')
    await run(url, ...viaApi, 'version=v2')
    const { stdout, stderr } = await run(url, ...get)
    expect(stdout).to.equal('version\tv2\n')
    expect(stderr).to.contain('by "chatctl api"')
  })

  it('exits 6 and names the last request if its outcome is unknown', async () => {
    const url = await server.serve([json(200, {}), failing(500, 'down', 'no')])
    await run(url, ...set, 'v1')
    await run(url, ...viaApi, 'version=v2')
    const refused = await run(url, ...get)
    expectFailure(refused, 6, '"chatctl api" sent one at 2026-03-01T12:00:02.000Z', 'outcome is unknown')
  })
})

const sessions = 51

describe('a list that is on this machine', () => {
  const sandbox = perSuite(createSandbox)
  const run = async (line: string) => {
    const { exitCode, stdout, stderr } = await runChatctl(sandbox, line.split(' '))
    expect(exitCode, stderr).to.equal(0)
    return { stdout, stderr }
  }

  before(async () => {
    for (const name of ['One', 'Two', 'Three']) await run(`settings set app_name=${name} -p local`)
    const directory = join(sandbox.home, '.local/share/chatctl/sessions')
    mkdirSync(directory, { recursive: true })
    for (let index = 0; index < sessions; index++) {
      const id = `s${index}`
      const at = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString()
      const lines = [
        { v: 1, type: 'session', id, at, profile: 'local', base_url: null },
        { type: 'user', turn: 1, at, text: 'What is a log?' },
      ]
      writeFileSync(join(directory, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
  })

  for (const [line, words] of [
    ['activity', 'There are older changes. Show them with: --limit 2'],
    ['settings history', 'There are older changes. Show them with: --limit 2'],
    ['settings history --service', 'There are older changes. Show them with: --limit 2'],
    ['service audit --action settings', 'Showing the newest 1 of 3 entries. Show all with: --limit 3'],
    ['chat sessions', 'There are more sessions. Show them with: --limit 2'],
    ['history search log', 'There are more messages; to see them, use --limit.'],
  ] as const)
    it(`says in every format that --limit shortens it: ${line}`, async () => {
      for (const format of ['json', 'jsonl', 'yaml', 'tsv']) {
        const { stderr } = await run(`${line} -p local --limit 1 -o ${format}`)
        const { message } = format.startsWith('json') ? JSON.parse(stderr).notice : { message: stderr }
        expect(message.replaceAll('\n', ' ')).to.contain(words)
      }
    })

  it('is printed whole for a program, without a notice', async () => {
    for (const line of ['chat sessions', 'chat sessions --search log', 'activity', 'settings history']) {
      const { stdout, stderr } = await run(`${line} -p local --json`)
      expect(JSON.parse(stdout)).to.have.lengthOf(line.startsWith('chat') ? sessions : 3)
      expect(stderr).to.equal('')
    }
    expect(JSON.parse((await run('history search log -p local --json')).stdout)).to.have.lengthOf(sessions)
  })

  it('is shortened for a person, except with chat sessions --all', async () => {
    const { stdout, stderr } = await run('chat sessions -p local -o tsv')
    expect(stdout.trim().split('\n')).to.have.lengthOf(50)
    expect(stderr).to.contain('There are more sessions. Show them with: --limit 100')
    expect((await run('chat sessions --all -o tsv')).stdout.trim().split('\n')).to.have.lengthOf(sessions)
  })

  it('names what a search omitted: the messages of a service without a mirror', async () => {
    const { stdout, stderr } = await run('history search absent -p local --json')
    expect(stdout).to.equal('[]\n')
    expect(JSON.parse(stderr).notice.message).to.contain('There is no mirror of this service')
  })
})
