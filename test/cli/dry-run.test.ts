import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { elsewhere, files as exampleFiles, preparations } from '../docs/example-tables.ts'
import { json, startFaultServer } from '../support/fault-server.ts'
import { perSuite } from '../support/lifetime.ts'
import { commands, exampleWords } from '../support/manifest.ts'
import { plantBrowserSession } from '../support/plant-browser-session.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

const password = 'canary-password-of-a-dry-run'
const key = 'canary-key-of-a-dry-run'

/** Stands for the id of a key that is there. */
const keyToRevoke = 'KEY'
const sessionToRevoke = 'SESSION'

/** Files of rows in the folder of the run, and what is in them. */
const usersFile = 'users.csv'
const rolesFile = 'roles.csv'
const files = {
  [usersFile]: `email,password,role\nada@example.com,${password},\nbob@example.com,,editor\n`,
  [rolesFile]: 'id,role\nu1,editor\n',
}

/** An editor that changes one key. */
const editing = { EDITOR: 'echo "app_name: New" >' }

interface Case {
  command: string
  args: string[]
  stdin?: string
  env?: NodeJS.ProcessEnv
  /** The request that is held back, for what changes the service. */
  request?: { method: string; path: string; body?: unknown }
  /** What is shown in place of that: the local change that is held back, or what a file comes to. */
  change?: unknown
  /** A field of what this call shows when it is run in earnest, where it is not of the view of its command. */
  answered?: string
}

const cases: Case[] = [
  {
    command: 'api',
    args: ['api', 'POST', '/v1/users', '--data', JSON.stringify({ name: 'Ada', password })],
    request: { method: 'POST', path: '/v1/users', body: { name: 'Ada', password: '<hidden>' } },
  },
  { command: 'api', args: ['api', '/v1/x'], request: { method: 'GET', path: '/v1/x' } },
  { command: 'api', args: ['api', 'GET', '/v1/x'], request: { method: 'GET', path: '/v1/x' } },
  {
    command: 'chat:send',
    args: ['chat', 'send', 'Hello', '--context', 'c1'],
    request: {
      method: 'POST',
      path: '/api/chat/send',
      body: { message: 'Hello', context_id: 'c1', stream: true },
    },
  },
  {
    command: 'chat:send',
    args: ['chat', 'send', 'Hello', '--no-stream'],
    request: { method: 'POST', path: '/api/chat/send', body: { message: 'Hello' } },
  },
  {
    command: 'chat:complete',
    args: ['chat', 'complete', 'Hello', '--max-tokens', '5'],
    request: {
      method: 'POST',
      path: '/v1/chat/completions',
      body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 },
    },
  },
  {
    command: 'settings:set',
    args: ['settings', 'set', 'theme.mode=dark', 'features.chat=off'],
    request: {
      method: 'PATCH',
      path: '/v1/settings',
      body: { theme: { mode: 'dark' }, features: { chat: false } },
    },
  },
  {
    command: 'settings:apply',
    args: ['settings', 'apply', '-', '--yes'],
    stdin: 'theme: { mode: dark }\nlimits: { max_tokens: 5 }',
    request: {
      method: 'PATCH',
      path: '/v1/settings',
      body: { theme: { mode: 'dark' }, limits: { max_tokens: 5 } },
    },
  },
  {
    command: 'settings:edit',
    args: ['settings', 'edit'],
    env: editing,
    request: { method: 'PATCH', path: '/v1/settings', body: { app_name: 'New' } },
  },
  {
    command: 'settings:api:set',
    args: ['settings', 'api', 'set', '--rate-limiting', 'off'],
    request: { method: 'POST', path: '/v1/settings/api', body: { rate_limiting: { enabled: false } } },
  },
  {
    command: 'users:create',
    args: ['users', 'create', '--email', 'ada@example.com', '--password-stdin'],
    stdin: password,
    request: {
      method: 'POST',
      path: '/v1/users',
      body: { email: 'ada@example.com', password: '<hidden>' },
    },
  },
  {
    command: 'users:create',
    args: ['users', 'create', '--generate-password'],
    request: { method: 'POST', path: '/v1/users', body: { password: '<hidden>' } },
  },
  {
    command: 'users:update',
    args: ['users', 'update', 'a b', '--name', 'Ada'],
    request: { method: 'PATCH', path: '/v1/users/a%20b', body: { name: 'Ada' } },
  },
  {
    command: 'users:permissions:assign',
    args: ['users', 'permissions', 'assign', 'u1', 'read:chat', '--role', 'editor'],
    request: {
      method: 'POST',
      path: '/v1/users/u1/permissions',
      body: { permissions: ['read:chat'], role: 'editor' },
    },
  },
  {
    command: 'users:permissions:assign',
    args: ['users', 'permissions', 'assign', '--file', rolesFile],
    answered: 'updated',
    change: { rows: 1, already_done: 0, creates: 0, updates: 0, assignments: 1, requests: 1 },
  },
  {
    command: 'users:import',
    args: ['users', 'import', usersFile],
    change: { rows: 2, already_done: 0, creates: 2, updates: 0, assignments: 1, requests: 3 },
  },
  {
    command: 'users:settings:set',
    args: ['users', 'settings', 'set', '--notification', 'email=off'],
    request: { method: 'PUT', path: '/api/user/settings', body: { notifications: { email: false } } },
  },
  {
    command: 'auth:login',
    args: ['auth', 'login', '--profile', 'work', '--base-url', 'https://chat.example', '--with-api-key'],
    change: {
      sign_in: {
        profile: 'work',
        base_url: 'https://chat.example',
        with: 'an API key',
        storage: 'keychain',
      },
    },
  },
  {
    command: 'auth:logout',
    args: ['auth', 'logout', '--profile', 'other', '--base-url', 'https://chat.example'],
    change: { sign_out: [{ profile: 'other', base_url: 'https://chat.example' }] },
  },
  {
    command: 'auth:use',
    args: ['auth', 'use', 'other'],
    change: { profile: null, key: 'default_profile', value: 'other' },
  },
  {
    command: 'config:set',
    args: ['config', 'set', 'model', 'small', '--profile', 'work'],
    change: { profile: 'work', key: 'model', value: 'small' },
  },
  {
    command: 'config:unset',
    args: ['config', 'unset', 'model', '--profile', 'other'],
    change: { profile: 'other', key: 'model', value: null },
  },
  {
    command: 'service:keys:create',
    args: ['service', 'keys', 'create', '--name', 'ci'],
    change: {
      create: {
        name: 'ci',
        tier: 'free',
        limit: 100,
        user_id: 'usr_admin',
        permissions: null,
        expires_at: null,
      },
    },
  },
  {
    command: 'service:keys:update',
    args: ['service', 'keys', 'update', keyToRevoke, '--tier', 'pro', '--permission', 'read:chat'],
    change: { update: keyToRevoke, tier: 'pro', limit: 1000, permissions: ['read:chat'] },
  },
  {
    command: 'service:admin:create',
    args: ['service', 'admin', 'create', 'grace@example.com', '--name', 'Grace'],
    change: { create: { email: 'grace@example.com', name: 'Grace', role: 'admin' } },
  },
  {
    command: 'service:users:reset',
    args: ['service', 'users', 'reset', 'admin@localhost', '--password-stdin'],
    stdin: password,
    change: { reset: { id: 'usr_admin', email: 'admin@localhost' } },
  },
  {
    command: 'service:backup',
    args: ['service', 'backup', '--to', 'copy.db'],
    change: { back_up_to: 'copy.db' },
  },
  {
    command: 'service:restore',
    args: ['service', 'restore', 'earlier.db'],
    change: { restore: '~/earlier.db', replace: '~/.local/share/chatctl/chatctl.db' },
  },
  {
    command: 'service:keys:revoke',
    args: ['service', 'keys', 'revoke', keyToRevoke],
    change: { revoke: keyToRevoke },
  },
  {
    command: 'service:sessions:revoke',
    args: ['service', 'sessions', 'revoke', sessionToRevoke],
    change: { revoke: sessionToRevoke },
  },
]

/** What is held back depends on what is there. */
const readsFirst = new Set(['settings:apply', 'settings:edit'])

/** Stand in examples for what is there. */
const placeholders: Record<string, string> = { KEY_ID: keyToRevoke, SESSION_ID: sessionToRevoke }

/** Examples that need what cannot be here, what another one made, or a conversation. */
const needsMore = new Set([
  ...elsewhere.map(({ text }) => text),
  ...Object.keys(preparations),
  'chatctl chat send --continue "In one sentence?"',
])

/** A new person, where an example makes one who is there for the others. */
function rename(command: string, word: string): string {
  return command === 'service:admin:create' ? word.replace(/^ada@/, 'grace@') : word
}

function readsSecret(words: readonly string[]): boolean {
  return words.includes('--password-stdin') || words.includes('--with-api-key')
}

/** The commands that have it, as they declare it. */
const drying = commands.filter(({ flags }) => 'dry-run' in flags)

/** The fields of what a command shows when it is run in earnest; `api` shows whatever comes. */
function answeredBy(command: string): string {
  const found = drying.find(({ id }) => id === command)
  return found?.view?.columns.map(({ path }) => path).join(',') ?? 'a'
}

describe('--dry-run', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startFaultServer(json(200, {})))
  let keyId: string
  let sessionId: string
  before(async () => {
    // What a run leaves in any case: its compile cache.
    await runChatctl(sandbox, ['config', 'set', 'model', 'large', '--profile', 'other'])
    const created = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'ci', '--json'])
    keyId = JSON.parse(created.stdout).id
    sessionId = await plantBrowserSession(join(sandbox.home, '.local/share/chatctl'))
    await runChatctl(sandbox, ['service', 'backup', '--to', 'earlier.db'])
    // What the examples name.
    await runChatctl(sandbox, ['service', 'backup', '--to', 'chatctl-backup.db'])
    await runChatctl(sandbox, ['config', 'set', 'base_url', 'https://chat.example', '--profile', 'work'])
    await runChatctl(sandbox, ['service', 'admin', 'create', 'ada@example.com', '--password-stdin'], {
      stdin: password,
    })
    for (const [name, text] of Object.entries({ ...exampleFiles, ...files }))
      writeFileSync(join(sandbox.home, name), text)
  })
  beforeEach(() => {
    server.requests.length = 0
  })

  const run = (args: readonly string[], stdin = '', env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    runChatctl(
      sandbox,
      args.map((word) => (word === keyToRevoke ? keyId : word === sessionToRevoke ? sessionId : word)),
      {
        env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: key, ...env },
        stdin,
      },
    )

  for (const entry of drying) {
    it(`changes nothing in the examples of ${entry.id}`, async () => {
      const { examples = [] } = entry
      const lines = exampleWords({
        ...entry,
        examples: examples.filter((example) => !needsMore.has(example.command)),
      })
      expect(lines).not.to.deep.equal([])
      const before = fingerprint(sandbox.home)
      for (const line of lines) {
        const words = line
          .filter((word) => word !== '--dry-run')
          .map((word) => placeholders[word] ?? rename(entry.id, word))
        const { exitCode, stdout, stderr } = await run(
          [...words, '--dry-run'],
          readsSecret(words) ? password : '',
          editing,
        )
        expect(exitCode, `${line.join(' ')}: ${stderr}`).to.equal(0)
        expect(stdout).to.match(/\S/)
        expect(stdout + stderr).not.to.contain(password)
        expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
        expect(fingerprint(sandbox.home)).to.deep.equal(before)
      }
    })
  }

  for (const { command, args, stdin, env, request, change, answered: field = answeredBy(command) } of cases) {
    it(`changes nothing: ${args.join(' ')}`, async () => {
      const before = fingerprint(sandbox.home)
      const plain = await run([...args, '--dry-run'], stdin, env)
      const structured = await run([...args, '--dry-run', '--json'], stdin, env)
      const variable = await run([...args, '--json'], stdin, { ...env, CHATCTL_DRY_RUN: '1' })
      const debug = await run([...args, '--dry-run', '--debug'], stdin, env)

      expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
      if (!readsFirst.has(command)) expect(server.requests).to.deep.equal([])
      expect(fingerprint(sandbox.home)).to.deep.equal(before)
      for (const { exitCode, stdout, stderr } of [plain, structured, variable, debug]) {
        expect(exitCode, stderr).to.equal(0)
        expect(stdout + stderr).not.to.contain(password)
        expect(stdout + stderr).not.to.contain(key)
      }
      expect(variable.stdout).to.equal(structured.stdout)
      const shown = JSON.parse(
        structured.stdout
          .replaceAll(keyId, keyToRevoke)
          .replaceAll(sessionId, sessionToRevoke)
          .replaceAll(sandbox.home, '~'),
      )
      if (!request) return expect(shown).to.deep.equal(change)
      const { path, ...rest } = request
      expect(shown).to.deep.equal({ ...rest, url: server.url + path })
      expect(plain.stdout.split('\n')[0]).to.equal(`${request.method} ${server.url}${path}`)
      expect(plain.stderr).to.equal('')
    })

    it(`takes --fields of the answer: ${args.join(' ')}`, async () => {
      const whole = await run([...args, '--dry-run', '--json'], stdin, env)
      const chosen = await run([...args, '--dry-run', '--json', '--fields', field], stdin, env)
      expect(chosen).to.deep.equal(whole)
    })
  }

  it('refuses what the real run would refuse', async () => {
    const { exitCode, stdout } = await run(['settings', 'set', 'limits.max_tokens=many', '--dry-run'])
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
    const nameless = await run(['users', 'create', '--generate-password', '--dry-run', '--fields', 'nmae'])
    expect(nameless.exitCode).to.equal(2)
  })

  it('needs no service: nothing is started for the embedded one', async () => {
    const fresh = createSandbox()
    const { exitCode, stdout, stderr } = await runChatctl(fresh, [
      ...['settings', 'set', 'theme.mode=dark', '--profile', 'local', '--dry-run', '--json'],
    ])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).to.deep.include({ method: 'PATCH', url: 'local:/v1/settings' })
    expect(globSync('**/*.db*', { cwd: fresh.home })).to.deep.equal([])
    fresh.remove()
  })

  it('reads a body from a file all the same', async () => {
    const path = join(sandbox.home, 'body.json')
    writeFileSync(path, '{"password":"canary-password-of-a-dry-run","list":[{"password":"canary"}]}')
    const { stdout } = await run(['api', 'PUT', '/v1/x', '--data', `@${path}`, '--dry-run', '--json'])
    expect(JSON.parse(stdout).body).to.deep.equal({ password: '<hidden>', list: [{ password: '<hidden>' }] })
  })
})

/** Every file below a folder and what is in it, but for the compile cache. */
function fingerprint(folder: string): Record<string, string> {
  // A pattern passes over folders whose names begin with a dot, which is where we keep everything.
  const files = globSync(['**/*', '.*/**/*'], { cwd: folder })
  return Object.fromEntries(
    files
      .filter((file) => !file.includes('.cache') && statSync(join(folder, file)).isFile())
      .map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(folder, file)))
          .digest('hex'),
      ]),
  )
}
