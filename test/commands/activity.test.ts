import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UseLock } from '../../src/system/files/use-lock.ts'
import { hurriedClock } from '../client/capture.ts'
import { expectFailure, expectSuccess } from '../support/expect-failure.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { ledgersOf, recordedIn, recordOf } from '../support/recorded-changes.ts'
import { type HostOptions, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { deadUrl, failing, json, startScriptedServer, thenClosed } from '../support/scripted-server.ts'
import { SteppedClock } from '../support/stepped-clock.ts'

const down = failing(500, 'down', 'no')
const refused = failing(422, 'invalid', 'no')

/** Call it inside a describe. A home directory and a service for each test, and runs by a clock. */
function startWorld() {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const clock = perTest(
    () => new SteppedClock(),
    () => {},
  )
  /** Runs the words at the service, or at another address. */
  const runAt = (url: string, args: readonly string[], options: HostOptions = {}) => {
    const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', CHATCTL_RETRIES: '0' }
    return runChatctl(sandbox, args, { env, host: { clock }, ...options })
  }
  const run = (...args: string[]) => runAt(server.url, args)
  return { sandbox, server, clock, runAt, run }
}

describe('activity', () => {
  const { sandbox, server, clock, runAt } = startWorld()
  const run = (args: readonly string[]) => runChatctl(sandbox, args, { host: { clock } })
  const activity = (...args: string[]) => run(['activity', ...args])
  const shown = async (...args: string[]) => JSON.parse((await activity('--json', ...args)).stdout)
  const inTerminal = () => runChatctl(sandbox, ['activity', '--no-color'], { terminal: { columns: 80 } })

  /** Sends a change, an hour after the last one. */
  async function change(url: string, ...args: string[]): Promise<void> {
    clock.pass(3_600_000)
    await runAt(url, args)
  }
  const rename = (id: string, url = server.url) => change(url, 'users', 'update', id, '--name', 'Ada')

  it('fails if the ledger cannot be read', async () => {
    const url = await server.serve(json(200, {}))
    await rename('u1')
    const [path = ''] = ledgersOf(sandbox)
    rmSync(path)
    mkdirSync(path)
    for (const args of [['activity'], ['users', 'list', '--base-url', url]])
      expectFailure(await run(args), 1, /^Error: Cannot read the ledger .*: .*directory/)
  })

  it('shows the changes oldest first, in a table and as JSON with every field', async () => {
    const url = await server.serve(json(200, { id: 'u1' }, { 'x-request-id': 'r1' }))
    await change(url, 'settings', 'api', 'set', '--version', 'v2')
    await rename('u1')
    const all = await shown()
    const [first, second] = all.map(({ id }: { id: string }) => id)
    expect(first).not.to.equal(second)
    const done = { outcome: 'done', status: 200, request_id: 'r1', error: null }
    const common = { profile: null, service: `${url}/`, email: null, ...done }
    expect(all).to.deep.equal([
      {
        ...{ id: first, at: '2026-03-01T13:00:00.000Z', ...common },
        ...{ command: 'settings api set', method: 'POST', path: '/v1/settings/api', user_id: null },
        ...{ fields: ['version'], values: { version: 'v2' }, change: 'version: v2' },
      },
      {
        ...{ id: second, at: '2026-03-01T14:00:00.000Z', ...common },
        ...{ command: 'users update', method: 'PATCH', path: '/v1/users/u1', user_id: 'u1' },
        ...{ fields: ['name'], change: 'u1: name' },
      },
    ])
    const { stdout } = await inTerminal()
    expect(stdout.replaceAll('\r', '').trimEnd().split('\n')).to.deep.equal([
      'AT                COMMAND           CHANGE       OUTCOME',
      '2026-03-01 13:00  settings api set  version: v2  done',
      '2026-03-01 14:00  users update      u1: name     done',
    ])
  })

  it('shows only changes since a time with --since', async () => {
    await server.serve(json(200, {}))
    await rename('u1')
    await rename('u2')
    const since = async (time: string) =>
      (await shown('--since', time)).map(({ user_id: id }: { user_id: string }) => id)
    expect(await since('30m')).to.deep.equal(['u2'])
    expect(await since('2026-03-01T13:00:00Z')).to.deep.equal(['u1', 'u2'])
    expect(await since('0m')).to.deep.equal(['u2'])
    expectFailure(await activity('--since', 'now'), 2, '"now" is not a date')
  })

  it('shows the newest changes with --limit, and says that there are older ones', async () => {
    await server.serve(json(200, {}))
    for (const id of ['u1', 'u2', 'u3']) await rename(id)
    const { stdout, stderr } = await activity('--limit', '2', '--fields', 'user_id')
    expect(stdout).to.equal('u2\nu3\n')
    expect(stderr).to.equal('There are older changes. Show them with: --limit 4\n')
    expect((await activity('--limit', '3')).stderr).to.equal('')
  })

  it('shows only changes with a profile or to a service, also of a profile that was removed', async () => {
    const url = await server.serve(json(200, { id: 'u1' }))
    await rename('u1')
    await change('', 'settings', 'set', 'app_name=A', '--profile', 'local')
    const commands = async (...args: string[]) =>
      (await shown(...args)).map(({ command }: { command: string }) => command)
    expect(await commands()).to.deep.equal(['users update', 'settings set'])
    expect(await commands('--profile', 'local')).to.deep.equal(['settings set'])
    expect(await commands('--profile', 'gone')).to.deep.equal([])
    expect(await commands('--base-url', url)).to.deep.equal(['users update'])
  })

  describe('with --unknown', () => {
    it('shows only changes with an unknown outcome, and how to check each with a command for its service', async () => {
      const url = await server.serve(down)
      await rename('u1')
      await rename('u1')
      await change(url, 'settings', 'api', 'set', '--version', 'v2')
      await rename('u2', await deadUrl())
      const { stdout, stderr } = await activity('--unknown', '--fields', 'command,outcome,status')
      expect(stdout).to.equal(
        'users update\tunknown\t500\nusers update\tunknown\t500\nsettings api set\tunknown\t500\n',
      )
      const check = `Check the user with: chatctl users get u1 --base-url ${url}/`
      expect(stderr.trimEnd().split('\n')).to.deep.equal([
        check,
        'The API configuration cannot be read back. To send it again, run the same command again.',
      ])
      expect(await shown('--unknown')).to.have.nested.property('[0].next_step', check)
    })

    it('agrees with the error of a change that may have been made before its retry was refused', async () => {
      const CHATCTL_BASE_URL = await server.serve([thenClosed(server, down)])
      const args = ['users', 'settings', 'set', '--theme', 'dark']
      const env = { CHATCTL_BASE_URL, CHATCTL_API_KEY: 'some-key' }
      const run = await runChatctl(sandbox, args, { env, host: { clock: hurriedClock() } })
      const words = /^Error: The outcome of the change is unknown: cannot reach http.*: connection refused$/m
      expectFailure(run, 69, words, /^Hint: +Check your preferences with: /m)
      expect(await shown('--unknown')).to.have.nested.property('[0].method', 'PUT')
    })

    it('names the profile if the change was sent with it', async () => {
      const url = await server.serve(down)
      const login = 'auth login --profile work --with-api-key --insecure-storage --no-verify --base-url'
      await runChatctl(sandbox, [...login.split(' '), url], { stdin: 'some-key' })
      await run(['users', 'update', 'u1', '--name', 'Ada', '--profile', 'work'])
      const [entry] = await shown('--unknown')
      expect(entry.next_step).to.equal('Check the user with: chatctl users get u1 --profile work')
    })
  })

  it('skips lines that it cannot read, with a warning', async () => {
    await server.serve(json(200, {}))
    await rename('u1')
    appendFileSync(ledgersOf(sandbox)[0] ?? '', '{"v":1\n')
    const stderr = 'Warning: 1 line of the ledger cannot be read and is skipped\n'
    expect(await activity('--fields', 'user_id')).to.deep.equal({ exitCode: 0, stdout: 'u1\n', stderr })
  })

  it('says that there are no changes if nothing was sent', async () =>
    expect(expectSuccess(await inTerminal()).stdout.trim()).to.equal('No matching changes.'))
})

describe('activity forget', () => {
  const { sandbox, server, run } = startWorld()
  const forget = (...args: string[]) => run('activity', 'forget', ...args)

  /** Two users, of whom one has the email of the other in its name, and a change of settings. */
  beforeEach(async () => {
    await server.serve({
      choose: ({ body }) => json(201, { id: body.includes('"bob@x.example"}') ? 'u2' : 'u1' }),
    })
    for (const [path, body] of [
      ['/v1/users', { email: 'Ada@x.example', name: 'Ada' }],
      ['/v1/users', { email: 'bob@x.example' }],
      ['/v1/users/u1/permissions', { role: 'admin' }],
      ['/v1/users/u2/permissions', { role: 'admin' }],
      ['/v1/settings/api', { version: 'ada@x.example' }],
    ] as const)
      await run('api', 'POST', path, '--data', JSON.stringify(body))
  })

  for (const user of ['ADA@x.example', 'u1'])
    it(`erases all changes that name the user ${user}, and no others`, async () => {
      const expected = { exitCode: 0, stdout: '/v1/users\n/v1/users/u1/permissions\n' }
      expect(await forget(user, '--dry-run', '--fields', 'path')).to.include(expected)
      expect(recordedIn(sandbox)).to.have.lengthOf(5)
      expectFailure(await forget(user), 3, '--yes')
      expect(await forget(user, '--yes', '--fields', 'path')).to.include(expected)
      expect(recordedIn(sandbox).map(({ user_id: id, path, outcome }) => [id, path, outcome])).to.deep.equal([
        ['u2', '/v1/users', 'done'],
        ['u2', '/v1/users/u2/permissions', 'done'],
        [null, '/v1/settings/api', 'done'],
      ])
      expect(recordOf(sandbox)).not.to.match(/u1|Ada/)
      expect((await forget(user, '--yes')).stderr).to.contain('Erased 0 changes')
      await run('users', 'update', 'u2', '--name', 'Bob')
      expect(recordedIn(sandbox)).to.have.lengthOf(4)
    })

  it('is refused while a run sends changes to the service', async () => {
    const lock = new UseLock(ledgersOf(sandbox)[0] ?? '')
    lock.hold('run')
    const text = recordOf(sandbox)
    expectFailure(await forget('u1', '--yes'), 7, 'is sending changes', 'Nothing was erased')
    expect(recordOf(sandbox)).to.equal(text)
    lock.close()
    expectSuccess(await forget('u1', '--yes'))
  })
})

describe('users list', () => {
  const { server, runAt, run } = startWorld()
  const note = 'The interface of the service cannot list users'
  const createAll = async (...names: string[]) => {
    const flags = ['--generate-password', '--allow-duplicates']
    for (const name of names) await run('users', 'create', '--email', `${name}@x.example`, ...flags)
  }
  const list = async () => (await run('users', 'list', '--fields', 'email,id,outcome')).stdout
  const created = (id: string) => json(201, { id })

  it('shows users whose creation is done or unknown, newest first and each once, and says what it is', async () => {
    await server.serve([created('u1'), refused, down, down, created('u4')])
    await createAll('ada', 'bob', 'cid', 'dan', 'DAN')
    await run('users', 'update', 'u1', '--name', 'Ada')
    const { stdout, stderr } = expectSuccess(await run('users', 'list', '-o', 'csv'))
    const lines = stdout.replaceAll(/\d{4}-[\d\-T:.]+Z/g, 'TIME').trim()
    expect(lines.split(/\r?\n/)).to.deep.equal([
      'email,id,created_at,source,outcome',
      'DAN@x.example,u4,TIME,ledger,done',
      'cid@x.example,,TIME,ledger,unknown',
      'ada@x.example,u1,TIME,ledger,done',
    ])
    expect(stderr.split(note)).to.have.length(2)
  })

  it('shows two users that have the same email, and an attempt without an outcome once', async () => {
    await server.serve([down, created('u1'), created('u2'), created('u2')])
    await createAll('ada', 'ada', 'ada', 'ada')
    expect(await list()).to.equal('ada@x.example\tu2\tdone\nada@x.example\tu1\tdone\n')
  })

  it('keeps the ID of a user if a later attempt to create the same user has an unknown outcome', async () => {
    await server.serve([created('u1'), down])
    await createAll('ada', 'Ada', 'ada')
    expect(await list()).to.equal('ada@x.example\t\tunknown\nada@x.example\tu1\tdone\n')
  })

  it('shows only users of the selected service, and sends no request', async () => {
    await server.serve(created('u1'))
    await createAll('ada')
    const elsewhere = await runAt('https://other.example', ['users', 'list', '--json'])
    expect(JSON.parse(elsewhere.stdout)).to.deep.equal([])
    expect(elsewhere.stderr).to.contain(note)
    expect(await list()).to.equal('ada@x.example\tu1\tdone\n')
    expect(server.requests).to.have.length(1)
  })
})

describe('users list --state', () => {
  const { sandbox, runAt } = startWorld()
  const run = (...args: string[]) =>
    runAt('https://chat.example', ['users', 'list', '--state', 'team.state.json', ...args])
  const write = (service: string, users: readonly object[]) => {
    const header = { format: 'chatctl-users-state', v: 1, service, serial: 1 }
    writeFileSync(join(sandbox.home, 'team.state.json'), JSON.stringify({ ...header, users }))
  }

  it('shows the users of the file, sorted by email address', async () => {
    write('https://chat.example/', [
      { email: 'ada@x.example', id: 'u1', hashes: {} },
      { email: 'Bob@x.example', creation: 'unknown', hashes: {} },
    ])
    const { stdout, stderr } = expectSuccess(await run('-o', 'csv'))
    expect(stdout.trim().split(/\r?\n/)).to.deep.equal([
      'email,id,created_at,source,outcome',
      'ada@x.example,u1,,state,done',
      'Bob@x.example,,,state,unknown',
    ])
    expect(stderr).to.contain('cannot list users. These are the users in team.state.json.')
  })

  for (const count of [0, 1, 1000])
    it(`prints ${count} users as one JSON list`, async () => {
      const userOf = (index: number) => ({ email: `user${1000 + index}@x.example`, id: `u${index}` })
      const users = Array.from({ length: count }, (_, index) => userOf(index))
      const entries = users.map((user) => ({ ...user, hashes: {} }))
      write('https://chat.example/', entries)
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
  const { server, clock, runAt } = startWorld()
  const run = (url: string, ...args: string[]) => {
    clock.pass(1000)
    return runAt(url, args)
  }
  const set = (version: string) => run(server.url, 'settings', 'api', 'set', '--version', version)
  const get = (url = server.url, ...flags: string[]) =>
    run(url, 'settings', 'api', 'get', '--last-sent', ...flags)
  const viaApi = () => run(server.url, 'api', 'POST', '/v1/settings/api', '--field', 'version=v2')

  it('exits 2 without --last-sent, because the service cannot be asked', async () => {
    const done = await run('https://a.example', 'settings', 'api', 'get')
    expectFailure(done, 2, 'cannot read the API configuration', 'chatctl settings api get --last-sent')
  })

  it('exits 6 if nothing was sent to this service', async () => {
    await server.serve(json(200, {}))
    await set('v2')
    expectFailure(await get('https://a.example'), 6, 'No API configuration was sent to this service')
  })

  it('shows what was last sent, when, and by which command', async () => {
    await server.serve([json(200, {}), json(200, {}), refused])
    for (const version of ['v1', 'v2', 'v3']) await set(version)
    const { stdout, stderr } = expectSuccess(await get(server.url, '--json'))
    expect(JSON.parse(stdout)).to.deep.equal({ version: 'v2' })
    expect(stderr).to.contain('at 2026-03-01T12:00:02.000Z by \\"chatctl settings api set\\"')
    expect(server.requests).to.have.length(3)
  })

  it('shows what chatctl api has sent later', async () => {
    await server.serve(json(200, {}))
    await set('v1')
    await viaApi()
    const { stdout, stderr } = await get()
    expect(stdout).to.equal('version\tv2\n')
    expect(stderr).to.contain('by "chatctl api"')
  })

  it('exits 6 and names the last request if its outcome is unknown', async () => {
    await server.serve([json(200, {}), down])
    await set('v1')
    await viaApi()
    expectFailure(await get(), 6, '"chatctl api" sent one at 2026-03-01T12:00:02.000Z', 'outcome is unknown')
  })
})

const sessions = 51

describe('a list that is on this machine', () => {
  const sandbox = perSuite(createSandbox)
  const run = async (line: string) => expectSuccess(await runChatctl(sandbox, line.split(' ')))

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

  const older = 'There are older changes. Show them with: --limit 2'
  for (const [line, words] of [
    ['activity', older],
    ['settings history', older],
    ['settings history --service', older],
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
