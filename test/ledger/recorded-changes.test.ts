import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { endpoints } from '../../src/contract/endpoints.ts'
import type { Outcome } from '../../src/contract/failure.ts'
import { hashOfField } from '../../src/contract/managed-fields.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { sentTo } from '../../src/users/sent-users.ts'
import { perTest } from '../support/lifetime.ts'
import { ledgersOf, recordedIn, recordOf, stateOf } from '../support/recorded-changes.ts'
import { type HostOptions, type Running, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  answer,
  type Behavior,
  deadUrl,
  failing,
  json,
  limited,
  type RecordedRequest,
  reset,
  shortBody,
  silent,
  startScriptedServer,
} from '../support/scripted-server.ts'
import { until } from '../support/until.ts'

const key = 'canary-key-of-the-record'
const password = 'canary-password-of-the-record'

interface Change {
  args: string[]
  command: string
  method: string
  path: string
  fields: string[]
  email?: string
  userId?: string
  values?: unknown
}

/** Every command that sends a change, with what is recorded of it. */
const changes: Change[] = [
  {
    args: ['settings', 'set', 'theme.mode=dark'],
    command: 'settings set',
    method: 'PATCH',
    path: '/v1/settings',
    fields: ['theme.mode'],
    values: { theme: { mode: 'dark' } },
  },
  {
    args: ['settings', 'api', 'set', '--version', 'v2', '--allowed-origin', 'https://a.example'],
    command: 'settings api set',
    method: 'POST',
    path: '/v1/settings/api',
    fields: ['version', 'cors.allowed_origins'],
    values: { version: 'v2', cors: { allowed_origins: ['https://a.example'] } },
  },
  {
    args: 'users create --email ada@example.com --password-file password --metadata a=b'.split(' '),
    command: 'users create',
    method: 'POST',
    path: '/v1/users',
    fields: ['email', 'password', 'metadata.a'],
    email: 'ada@example.com',
  },
  {
    args: ['users', 'update', 'u 1', '--name', 'Ada', '--theme', 'dark'],
    command: 'users update',
    method: 'PATCH',
    path: '/v1/users/u%201',
    fields: ['name', 'settings.theme'],
    userId: 'u 1',
  },
  {
    args: ['users', 'permissions', 'assign', 'u1', 'read:chat', '--role', 'editor'],
    command: 'users permissions assign',
    method: 'POST',
    path: '/v1/users/u1/permissions',
    fields: ['permissions', 'role'],
    userId: 'u1',
  },
  {
    args: ['users', 'settings', 'set', '--theme', 'dark'],
    command: 'users settings set',
    method: 'PUT',
    path: '/api/user/settings',
    fields: ['theme'],
  },
  {
    args: ['api', 'POST', '/v1/new?mode=x&access_token=canary-token', '--data', '{"a":{"b":"secret value"}}'],
    command: 'api',
    method: 'POST',
    path: '/v1/new?mode=x&access_token=redacted',
    fields: ['a.b'],
  },
]

interface Case {
  outcome: Outcome
  status: number | null
  error: string | null
  behavior?: Behavior
}

const outcomes: Record<string, Case> = {
  'a 2xx response': { outcome: 'done', status: 200, error: null, behavior: json(200, {}) },
  'a 204 response': { outcome: 'done', status: 204, error: null, behavior: answer(204) },
  'success: false in a 2xx response': {
    outcome: 'refused',
    status: 200,
    error: 'rejected',
    behavior: json(200, { success: false, message: 'no' }),
  },
  'a 202 response': { outcome: 'unverified', status: 202, error: null, behavior: answer(202) },
  'a response with other values': {
    outcome: 'contradicted',
    status: 200,
    error: null,
    behavior: json(200, {
      ...{ email: 'other@x.example', name: 'Other', version: 'other', role: 'other' },
      ...{ theme: { mode: 'other' }, settings: { theme: 'other' } },
    }),
  },
  'a 4xx response': {
    outcome: 'refused',
    status: 422,
    error: 'rejected',
    behavior: failing(422, 'invalid', 'no'),
  },
  'a 5xx response': {
    outcome: 'unknown',
    status: 503,
    error: 'server_error',
    behavior: failing(503, 'down', 'no'),
  },
  'a lost response': { outcome: 'unknown', status: null, error: 'unreachable', behavior: reset },
  'a truncated response': { outcome: 'unknown', status: null, error: 'truncated', behavior: shortBody() },
  'a connection that is refused': { outcome: 'refused', status: null, error: 'unreachable' },
}

describe('a change', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  beforeEach(() => writeFileSync(join(sandbox.home, 'password'), `${password}\n`))

  const envFor = (url: string): NodeJS.ProcessEnv => ({
    CHATCTL_BASE_URL: url,
    CHATCTL_API_KEY: key,
    CHATCTL_RETRIES: '0',
  })

  /** Requests that read settings find the change made, so that commands do not wait for it. */
  const startWith = (behavior: Behavior) => {
    const settings = json(200, { app_name: 'Chat', theme: { mode: 'dark' } })
    return server.serve({ choose: ({ method }) => (method === 'GET' ? settings : behavior) })
  }

  it('can be sent by a command to every endpoint that changes something, except those of chats', () => {
    const chats: string[] = [endpoints.createCompletion.path, endpoints.sendMessage.path]
    const changing = Object.values(endpoints).filter(
      ({ method, path }) => method !== 'GET' && !chats.includes(path),
    )
    for (const { method, path } of changing) {
      const pattern = new RegExp(`^${path.replace('{id}', '[^/]+')}$`)
      const found = changes.some((change) => change.method === method && pattern.test(change.path))
      expect(found, path).to.equal(true)
    }
  })

  for (const [row, { args, command, method, path, fields, email, userId, values }] of changes.entries()) {
    // The client decides the outcome, so each change but the last is tried with a third of them.
    const isLast = row === changes.length - 1
    const cells = Object.entries(outcomes).filter((_, column) => isLast || (row + column) % 3 === 0)
    for (const [title, { outcome, status, error, behavior }] of cells)
      it(`of ${command} is recorded once as ${outcome} after ${title}`, async () => {
        const url = behavior ? await startWith(behavior) : await deadUrl()
        await runChatctl(sandbox, args, { env: envFor(url) })
        const [entry, ...others] = recordedIn(sandbox)
        expect(others).to.deep.equal([])
        expect(entry).to.deep.include({ profile: null, service: `${url}/`, command, method, path, fields })
        const known = outcome === 'contradicted' && command === 'api' ? 'done' : outcome
        expect(entry).to.include({
          email: email ?? null,
          user_id: userId ?? null,
          outcome: known,
          status,
          error,
        })
        expect(entry?.values).to.deep.equal(values)
      })

    it(`of ${command} is recorded before it is sent, and as unknown if the run is killed or interrupted`, async () => {
      let running: Running | undefined
      let whenSent: unknown
      const interrupt: Behavior = (request: RecordedRequest, response, incoming) => {
        whenSent = recordedIn(sandbox)
        running?.interrupt('SIGTERM')
        return silent(request, response, incoming)
      }
      const url = await startWith(interrupt)
      running = startChatctl(sandbox, args, { env: envFor(url) })
      running.stdin.end()
      expect(await running.ended).to.include({ exitCode: 143 })
      // A killed process would leave this.
      const about = { command, method, path, fields, outcome: 'unknown', status: null }
      expect(whenSent).to.have.length(1)
      expect(whenSent).to.have.deep.nested.property('[0].error', null)
      const [entry, ...others] = recordedIn(sandbox)
      expect(others).to.deep.equal([])
      expect(entry).to.deep.include({ ...about, error: 'interrupted' })
    })
  }

  const assignment = { path: '/v1/users/u1/permissions', fields: ['permissions', 'role'] }
  for (const [args, recorded] of [
    [['settings', 'apply', 'dark.yaml', '--yes'], [{ path: '/v1/settings', fields: ['theme.mode'] }]],
    [['settings', 'edit', '--yes'], [{ path: '/v1/settings', fields: ['theme.mode'] }]],
    [['users', 'permissions', 'assign', '--file', 'assignments.jsonl', '--yes'], [assignment]],
  ] as const)
    it(`of ${args.join(' ')} is recorded once for each request`, async () => {
      const row = { id: 'u1', role: 'editor', permissions: ['read:chat'] }
      writeFileSync(join(sandbox.home, 'assignments.jsonl'), `${JSON.stringify(row)}\n`)
      writeFileSync(join(sandbox.home, 'dark.yaml'), 'theme: { mode: dark }\n')
      writeFileSync(join(sandbox.home, 'editor'), `#!/bin/sh\nsed -i 's/light/dark/' "$1"\n`, { mode: 0o700 })
      const url = await server.serve({
        choose: () => {
          const isChanged = server.requests.some(({ method }) => method !== 'GET')
          return json(200, { app_name: 'Chat', theme: { mode: isChanged ? 'dark' : 'light' } })
        },
      })
      const env = { ...envFor(url), EDITOR: join(sandbox.home, 'editor') }
      expect(await runChatctl(sandbox, args, { env })).to.include({ exitCode: 0 })
      const command = args.slice(0, args[0] === 'users' ? 3 : 2).join(' ')
      expect(recordedIn(sandbox).map(({ path, fields }) => ({ path, fields }))).to.deep.equal(recorded)
      for (const entry of recordedIn(sandbox))
        expect(entry).to.include({ command, outcome: 'done', status: 200 })
    })

  const create = ['users', 'create', '--email', 'ada@example.com', '--password-file', 'password']

  it('has the ID of the created user and of the request, and the profile', async () => {
    const url = await server.serve(
      json(201, { id: 'usr_1' }, { 'x-request-id': 'req-1', location: '/v1/users/usr_1' }),
    )
    const login = 'auth login --profile work --with-api-key --insecure-storage --no-verify'.split(' ')
    await runChatctl(sandbox, [...login, '--base-url', url], { stdin: key })
    await runChatctl(sandbox, [...create, '--profile', 'work'])
    expect(recordedIn(sandbox)).to.have.length(1)
    expect(recordedIn(sandbox)[0]).to.include({
      profile: 'work',
      service: `${url}/`,
      user_id: 'usr_1',
      request_id: 'req-1',
      outcome: 'done',
      status: 201,
    })
  })

  it('to the embedded service is recorded', async () => {
    const { exitCode } = await runChatctl(sandbox, ['settings', 'set', 'app_name=A', '--profile', 'local'])
    expect(exitCode).to.equal(0)
    expect(recordedIn(sandbox)).to.have.length(1)
    expect(recordedIn(sandbox)[0]).to.include({ profile: 'local', service: 'local', outcome: 'done' })
  })

  it('is recorded once if it is sent again after a rate limit', async () => {
    const url = await server.serve([limited({ 'retry-after': '0' }), json(200, { id: 'u1' })])
    await runChatctl(sandbox, create, { env: envFor(url) })
    const found = recordedIn(sandbox).map(({ outcome, status }) => ({ outcome, status }))
    expect(found).to.deep.equal([{ outcome: 'done', status: 200 }])
  })

  it('is unknown if an earlier attempt may have taken effect', async () => {
    const url = await server.serve([reset, failing(422, 'invalid', 'no')])
    const env = { ...envFor(url), CHATCTL_RETRIES: '1' }
    await runChatctl(sandbox, ['users', 'settings', 'set', '--theme', 'dark'], { env })
    expect(server.requests).to.have.length(2)
    expect(recordedIn(sandbox)[0]).to.include({ outcome: 'unknown', status: 422 })
  })

  it('is refused if the run ends while it waits for a rate limit', async () => {
    const url = await server.serve(limited({ 'retry-after': '30' }))
    const running = startChatctl(sandbox, create, { env: envFor(url) })
    running.stdin.end()
    await until(() => running.written().stderr.includes('Rate limit exceeded'))
    running.interrupt('SIGTERM')
    await running.ended
    expect(recordedIn(sandbox)[0]).to.include({ outcome: 'refused' })
  })

  for (const args of [
    ['settings', 'get'],
    ['users', 'get', 'u1'],
    ['chat', 'send', 'Hello', '--no-stream'],
    ['chat', 'complete', 'Hello'],
    ['api', 'GET', '/v1/settings'],
    ['api', 'HEAD', '/v1/settings'],
    ['api', 'POST', '/completions', '--data', '{}', '--base-url', '/v1/chat'],
    [...create, '--dry-run'],
    ['settings', 'set', 'theme.mode=dark', '--dry-run'],
  ])
    it(`is not recorded for: chatctl ${args.join(' ')}`, async () => {
      const url = await server.serve(json(200, { response: 'x', choices: [{ message: { content: 'x' } }] }))
      const line = args.map((word) => (word === '/v1/chat' ? url + word : word))
      await runChatctl(sandbox, line, { env: envFor(url) })
      expect(existsSync(join(stateOf(sandbox), 'ledger'))).to.equal(false)
    })

  it('is recorded with the path of the interface if the base URL has a part of it', async () => {
    const url = await server.serve(json(201, { id: 'u1' }))
    const base = ['--base-url', `${url}/gateway/v1`]
    const body = ['--data', '{"email":"ada@example.com"}']
    await runChatctl(sandbox, ['api', 'POST', '/users', ...body, ...base], { env: envFor(url) })
    expect(server.requests.at(-1)?.path).to.equal('/gateway/v1/users')
    const [entry] = recordedIn(sandbox)
    expect(entry).to.include({ service: `${url}/gateway`, path: '/v1/users', email: 'ada@example.com' })
    const ofService = ['users', 'list', '--jq', '.[].email', '--base-url', `${url}/gateway`]
    expect((await runChatctl(sandbox, ofService, { env: envFor(url) })).stdout).to.equal('ada@example.com\n')
    for (const [path, count] of [
      ['/gateway/v1', 1],
      ['/gateway', 1],
      ['', 0],
      ['/gateway/v2', 0],
    ] as const) {
      const shown = await runChatctl(sandbox, ['activity', '--json', '--base-url', url + path])
      expect(JSON.parse(shown.stdout), path).to.have.lengthOf(count)
    }
  })

  it('is that of the documented endpoint, whatever the notation of the final URL', async () => {
    const url = await server.serve(json(201, { id: 'u1' }))
    const send = (path: string, base: string, method = 'POST', data = '{"email":"Ada@example.com"}') =>
      runChatctl(sandbox, ['api', method, path, '--data', data, '--base-url', url + base], {
        env: envFor(url),
      })
    await send('/v1/users', '')
    await send('/v1/users/', '/')
    await send('/users', '/v1')
    const list = await runChatctl(sandbox, ['users', 'list', '--json', '--base-url', url])
    expect(JSON.parse(list.stdout)).to.have.lengthOf(1)
    expect(ledgersOf(sandbox)).to.have.lengthOf(1)
    expect(recordedIn(sandbox).map(({ service, path, user_id: id }) => [service, path, id])).to.deep.equal(
      Array.from({ length: 3 }, () => [`${url}/`, '/v1/users', 'u1']),
    )
    await send('/v1/users/u1/permissions/', '/gateway/', 'POST', '{"role":"admin"}')
    await send('/gateway/v1/users/u1', '', 'PATCH', '{"name":"Ada"}')
    const changes = Ledger.of(new Directories(sandbox.env), `${url}/gateway`).userChanges()
    const sent = sentTo(changes).get('u1') ?? []
    expect(Array.from(sent, ([path, { hash }]) => [path, hash])).to.deep.equal([
      ['role', hashOfField('role', 'admin')],
      ['name', hashOfField('name', 'Ada')],
    ])
  })

  it('is not recorded if a non-interactive run selects no service', async () => {
    expect((await runChatctl(sandbox, create)).exitCode).to.equal(2)
    expect(existsSync(stateOf(sandbox))).to.equal(false)
  })

  describe('of an import', () => {
    const run = async (behavior: Behavior | Behavior[], options: HostOptions = {}) => {
      const url = await server.serve(behavior)
      writeFileSync(join(sandbox.home, 'users.csv'), `email,password,role\na@x.example,${password},editor\n`)
      const done = await runChatctl(sandbox, ['users', 'import', 'users.csv', '--yes'], {
        ...options,
        env: envFor(url),
      })
      return { ...done, entries: recordedIn(sandbox) }
    }

    it('is recorded for each request', async () => {
      const { entries } = await run(json(200, { id: 'u1' }))
      const found = entries.map(({ command, email, user_id: id, fields }) => ({ command, email, id, fields }))
      expect(found).to.deep.equal([
        { command: 'users import', email: 'a@x.example', id: 'u1', fields: ['email', 'password'] },
        { command: 'users import', email: null, id: 'u1', fields: ['role'] },
      ])
    })

    it('is recorded once if the import sends it again after a rate limit', async () => {
      const { entries } = await run([limited({ 'retry-after': '0' }), json(200, { id: 'u1' })])
      expect(entries.map(({ outcome, status }) => ({ outcome, status }))).to.deep.equal([
        { outcome: 'done', status: 200 },
        { outcome: 'done', status: 200 },
      ])
    })
  })

  it('contains no secret and no value of a user', async () => {
    const url = await server.serve((request, response, incoming) =>
      // A service may repeat what it received.
      failing(422, password, `${password} ${key}`, { 'x-request-id': `req ${key}` })(
        request,
        response,
        incoming,
      ),
    )
    const env = envFor(url)
    for (const { args } of changes) await runChatctl(sandbox, args, { env })
    const data = JSON.stringify({
      email: 'ada@example.com',
      password,
      name: 'canary-name',
      metadata: { a: 'canary-a' },
    })
    await runChatctl(sandbox, ['api', 'POST', '/v1/users?api_key=canary-in-query', '--data', data], { env })
    const nested =
      '{"a":{"api_key":"canary-nested","smtpPassword":["canary"],"b":"shown"},"limits":{"max_tokens":5}}'
    await runChatctl(sandbox, ['api', 'PATCH', '/v1/settings', '--data', nested], { env })
    await runChatctl(sandbox, ['users', 'update', 'u1', '--name', 'canary-name'], { env })
    const text = recordOf(sandbox)
    expect(text).to.contain('ada@example.com').and.not.to.contain('canary')
    expect(text).to.contain(
      '"a":{"api_key":"[redacted]","smtpPassword":"[redacted]","b":"shown"},"limits":{"max_tokens":5}',
    )
    expect(recordedIn(sandbox)).to.have.length(changes.length + 3)
  })

  it('is in a file that only the user can read', async () => {
    const url = await server.serve(json(200, {}))
    await runChatctl(sandbox, create, { env: envFor(url) })
    expect(statSync(ledgersOf(sandbox)[0] ?? '').mode & 0o777).to.equal(0o600)
    expect(statSync(stateOf(sandbox)).mode & 0o777).to.equal(0o700)
  })

  it('of an import or users apply is not sent if it cannot be recorded', async () => {
    const url = await server.serve(json(200, { id: 'u1' }))
    mkdirSync(`${Ledger.of(new Directories(sandbox.env), url).path}.lock`, { recursive: true })
    writeFileSync(join(sandbox.home, 'users.csv'), 'email,name\nada@example.com,Ada\n')
    for (const command of ['import', 'apply']) {
      const flags = command === 'apply' ? ['--no-password'] : []
      const words = ['users', command, 'users.csv', '--yes', ...flags]
      const run = await runChatctl(sandbox, words, { env: envFor(url) })
      expect(run.stderr).to.contain('Cannot write the ledger')
      expect(run.exitCode).to.equal(1)
    }
    expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
  })

  it('is sent with one warning if it cannot be recorded', async () => {
    const url = await server.serve(json(200, { id: 'u1' }))
    mkdirSync(stateOf(sandbox), { recursive: true })
    writeFileSync(join(stateOf(sandbox), 'ledger'), '')
    const { exitCode, stderr } = await runChatctl(sandbox, create, { env: envFor(url) })
    expect(exitCode).to.equal(0)
    expect(stderr.match(/cannot record/g)).to.have.length(1)
    expect(server.requests).to.have.length(1)
  })
})
