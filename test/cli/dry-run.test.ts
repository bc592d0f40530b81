import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { elsewhere, files as exampleFiles, preparations, prompts } from '../docs/example-tables.ts'
import { someCells } from '../support/cells.ts'
import { creatingGrace } from '../support/command-lines.ts'
import { expectFailure, expectSuccess } from '../support/expect-failure.ts'
import { fingerprint } from '../support/fingerprint.ts'
import { perSuite } from '../support/lifetime.ts'
import { commands, exampleWords } from '../support/manifest.ts'
import { plantBrowserSession } from '../support/plant-browser-session.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type Behavior, json, startScriptedServer } from '../support/scripted-server.ts'

const password = 'canary-password-of-a-dry-run'

/** Placeholder for the ID of a key that exists. */
const keyToRevoke = 'KEY'
const sessionToRevoke = 'SESSION'
const trustToRevoke = 'prepared'

/** Files in the working directory of the run, with their content. */
const files = {
  'users.csv': `email,password,role\nada@example.com,${password},\nbob@example.com,,editor\n`,
  'roles.csv': 'id,role\nu1,editor\n',
}

/** An editor that changes one key. */
const editing = { EDITOR: 'echo "app_name: New" >' }

/** A command line that would make a change, and the expected output of --dry-run. */
interface Case {
  /** Its words, as one text if none has a space. */
  line: string | string[]
  stdin?: string
  env?: NodeJS.ProcessEnv
  /** The request that is not sent, for a change to the service, such as `GET /v1/x`, and its body. */
  request?: string
  body?: unknown
  /** The output if there is no such request: the local change that is not made, or the summary of a file. */
  change?: unknown
  /** A field that the real run would show, if it is not a column of the command's view. */
  answered?: string
}

const admin = { user_id: 'usr_admin', user_email: 'admin@localhost' }
const rowsOf = (rows: number, creates: number, assignments: number) => ({
  ...{ rows, already_done: 0, reads: 0, creates, updates: 0, assignments, requests: creates + assignments },
})
const post = (line: number, below: string, body: object) => ({
  ...{ line, method: 'POST', url: `SERVICE/v1/users${below}`, body },
})
const hidden = { email: 'ada@example.com', password: '[redacted]' }

const cases: readonly Case[] = [
  {
    line: ['api', 'POST', '/v1/users', '--data', JSON.stringify({ name: 'Ada', password })],
    request: 'POST /v1/users',
    body: { name: 'Ada', password: '[redacted]' },
  },
  { line: 'api GET /v1/x', request: 'GET /v1/x' },
  {
    line: 'chat send Hello --context c1',
    request: 'POST /api/chat/send',
    body: { message: 'Hello', context_id: 'c1', stream: true },
  },
  {
    line: 'chat prompts set review',
    stdin: 'Review this:',
    change: { name: 'review', replaced: true, path: '~/.config/chatctl/prompts/review.md' },
  },
  {
    line: 'chat complete --prompt review Hello --temperature 1',
    request: 'POST /v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'Review this change:\n\nHello' }], temperature: 1 },
  },
  {
    line: 'settings apply - --yes',
    stdin: 'theme: { mode: dark }\nlimits: { max_tokens: 5 }',
    request: 'PATCH /v1/settings',
    body: { theme: { mode: 'dark' }, limits: { max_tokens: 5 } },
  },
  { line: 'settings edit', env: editing, request: 'PATCH /v1/settings', body: { app_name: 'New' } },
  {
    line: 'users create --email ada@example.com --password-stdin',
    stdin: password,
    request: 'POST /v1/users',
    body: hidden,
  },
  {
    line: 'users permissions assign --file roles.csv',
    answered: 'updated',
    change: { ...rowsOf(1, 0, 1), first_requests: [post(2, '/u1/permissions', { role: 'editor' })] },
  },
  {
    line: 'users import users.csv',
    change: {
      ...rowsOf(2, 2, 1),
      first_requests: [
        post(2, '', hidden),
        post(3, '', { email: 'bob@example.com' }),
        post(3, '/{id}/permissions', { role: 'editor' }),
      ],
    },
  },
  {
    line: 'auth login --profile work --base-url https://chat.example --with-api-key',
    change: {
      sign_in: { profile: 'work', base_url: 'https://chat.example', with: 'an API key', storage: 'keychain' },
    },
  },
  {
    line: 'auth logout --profile other --base-url https://chat.example',
    change: { sign_out: [{ profile: 'other', base_url: 'https://chat.example', storage: 'keychain' }] },
  },
  { line: 'auth remove other', change: { remove: 'other', sign_out: [], default: false, directories: [] } },
  { line: 'auth rename other acme', change: { rename: 'other', name: 'acme' } },
  { line: 'auth use other', change: { profile: null, key: 'default_profile', value: 'other' } },
  {
    line: 'config set model small --profile work',
    change: { profile: 'work', key: 'model', value: 'small' },
  },
  { line: 'config unset model --profile other', change: { profile: 'other', key: 'model', value: null } },
  {
    line: 'service keys create --name ci',
    change: {
      create: { name: 'ci', tier: 'free', limit: 100, ...admin, permissions: null, expires_at: null },
    },
  },
  {
    line: `service keys update ${keyToRevoke} --tier pro --permission read:chat`,
    change: {
      ...{ update: keyToRevoke, name: 'ci', tier: 'pro', limit: 1000, ...admin },
      ...{ permissions: ['read:chat'], expires_at: null },
    },
  },
  {
    line: 'service admin create henry@example.com --name Henry',
    change: { create: { email: 'henry@example.com', name: 'Henry', role: 'admin' } },
  },
  {
    line: 'service users reset admin@localhost --password-stdin',
    stdin: password,
    change: { reset: { id: 'usr_admin', email: 'admin@localhost' } },
  },
  { line: 'service backup --to copy.db', change: { back_up_to: 'copy.db' } },
  {
    line: 'service restore earlier.db',
    change: { restore: '~/earlier.db', replace: '~/.local/share/chatctl/chatctl.db' },
  },
  { line: `service keys revoke ${keyToRevoke}`, change: { revoke: keyToRevoke } },
  {
    line: 'service trust create deploy --issuer https://ci.example --audience a --subject b --permission read:chat --expires 5m',
    change: {
      create: {
        ...{ name: 'deploy', issuer: 'https://ci.example', audience: 'a', subject: 'b' },
        ...{ permissions: ['read:chat'], ...admin, tier: 'free', limit: 100, expires_in: 300 },
      },
    },
  },
  { line: `service trust revoke ${trustToRevoke}`, change: { revoke: trustToRevoke } },
  { line: `service sessions revoke ${sessionToRevoke}`, change: { revoke: sessionToRevoke } },
]

const key = 'canary-key-of-a-dry-run'

/** Commands that read the current state before they compute the change. */
const readsFirst = new Set(['settings:apply', 'settings:edit'])

/** Placeholders in examples, replaced by IDs that exist. */
const placeholders: Record<string, string> = { KEY_ID: keyToRevoke, SESSION_ID: sessionToRevoke }

/** Examples that need another service, the result of another example, or a conversation. */
const needsMore = new Set([
  ...elsewhere.map(({ text }) => text),
  ...Object.keys(preparations),
  'chatctl chat send --continue "In one sentence?"',
  // Reads stdin.
  'chatctl users adopt - --state team.state.json < known-users.txt',
])

/** Uses another email address or trust, because what the example creates may exist for other examples. */
function rename(command: string, word: string): string {
  if (command === 'service:trust:revoke' && word === 'deploy') return trustToRevoke
  return command === 'service:admin:create' ? word.replace(/^ada@/, 'henry@') : word
}

/** The session of the examples. */
const plannedSession = 's20261121-142233-k3f9'

const readsSecret = (words: readonly string[]): boolean =>
  words.includes('--password-stdin') || words.includes('--with-api-key')

/** The commands that declare --dry-run. Only `auth refresh` needs a sign-in (test/commands/auth/refresh.test.ts). */
const drying = commands.filter(({ id, flags }) => 'dry-run' in flags && id !== 'auth:refresh')

/** The command of a line. No command with --dry-run is a topic, too. */
const commandOf = (args: readonly string[]) =>
  drying.find(({ id }) => id === args.slice(0, id.split(':').length).join(':'))

describe('--dry-run', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startScriptedServer(json(200, {})))
  let keyId: string
  let sessionId: string
  before(async () => {
    // Any run creates the compile cache, so one run comes first.
    await runChatctl(sandbox, ['config', 'set', 'model', 'large', '--profile', 'other'])
    const created = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'ci', '--json'])
    keyId = JSON.parse(created.stdout).id
    await runChatctl(sandbox, [
      ...['service', 'trust', 'create', trustToRevoke, '--issuer', 'https://ci.example', '--audience', 'a'],
      ...['--subject', 'b', '--permission', 'read:chat'],
    ])
    const creating = ['api', 'POST', '/v1/users', '--field', 'email=mary@example.com']
    await runChatctl(sandbox, creating, { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: key } })
    sessionId = await plantBrowserSession(join(sandbox.home, '.local/share/chatctl'))
    await runChatctl(sandbox, ['service', 'backup', '--to', 'earlier.db'])
    // The files and profiles that the examples name.
    await runChatctl(sandbox, ['service', 'backup', '--to', 'chatctl-backup.db'])
    await runChatctl(sandbox, ['config', 'set', 'base_url', 'https://chat.example', '--profile', 'work'])
    const admin = ['service', 'admin', 'create', 'ada@example.com', '--password-stdin']
    await runChatctl(sandbox, admin, { stdin: password })
    await runChatctl(sandbox, creatingGrace)
    const sessions = join(sandbox.home, '.local/share/chatctl/sessions')
    mkdirSync(sessions)
    const session = { v: 1, type: 'session', id: plannedSession, at: '', profile: null, base_url: null }
    writeFileSync(join(sessions, `${plannedSession}.jsonl`), `${JSON.stringify(session)}\n`)
    for (const [name, text] of Object.entries(prompts))
      await runChatctl(sandbox, ['chat', 'prompts', 'set', name], { stdin: text })
    const states: Record<string, string> = {}
    for (const [file, name] of Object.entries({ users: 'grace', team: 'grace', theirs: 'ada' })) {
      const users = [{ email: `${name}@example.com`, id: `usr_${name}`, hashes: {} }]
      const header = { format: 'chatctl-users-state', v: 1, service: `${server.url}/`, serial: 1 }
      states[`${file}.state.json`] = JSON.stringify({ ...header, users })
    }
    for (const [name, text] of Object.entries({ ...exampleFiles, ...files, ...states }))
      writeFileSync(join(sandbox.home, name), text)
  })
  beforeEach(() => {
    server.requests.length = 0
  })

  const run = (args: readonly string[], stdin = '', env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    runChatctl(
      sandbox,
      args.map((word) => (word === keyToRevoke ? keyId : word === sessionToRevoke ? sessionId : word)),
      { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: key, ...env }, stdin },
    )

  for (const entry of drying)
    it(`changes nothing in the examples of ${entry.id}`, async () => {
      const examples = (entry.examples ?? []).filter((example) => !needsMore.has(example.command))
      const lines = exampleWords({ ...entry, examples })
      expect(lines, 'Add an example that can run without a preparation').not.to.deep.equal([])
      const before = fingerprint(sandbox.home)
      for (const line of lines) {
        const words = line
          .filter((word) => word !== '--dry-run')
          .map((word) => placeholders[word] ?? rename(entry.id, word))
        const stdin = readsSecret(words) ? password : ''
        const { exitCode, stdout, stderr } = await run([...words, '--dry-run'], stdin, editing)
        const needs = 'Prepare what the example needs in this file, or list it in `needsMore`'
        expect(exitCode, `${line.join(' ')}: ${stderr}${needs}`).to.equal(0)
        expect(stdout).to.match(/\S/)
        expect(stdout + stderr).not.to.contain(password)
        expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
        expect(fingerprint(sandbox.home)).to.deep.equal(before)
      }
    })

  for (const { line, stdin, env, request, body, change, answered } of cases) {
    const args = typeof line === 'string' ? line.split(' ') : line
    const { id = '', view } = commandOf(args) ?? {}
    // The fields that a real run would show. `api` shows any field.
    const field = answered ?? view?.columns.map(({ path }) => path).join(',') ?? 'a'
    it(`prints the request or local change and makes no change: ${args.join(' ')}`, async () => {
      const before = fingerprint(sandbox.home)
      const plain = await run([...args, '--dry-run'], stdin, env)
      const structured = await run([...args, '--dry-run', '--json'], stdin, env)
      // With a field of the response that a real run would show.
      const withVariable = () =>
        run([...args, '--json', '--fields', field], stdin, { ...env, CHATCTL_DRY_RUN: '1' })
      const withDebug = () => run([...args, '--dry-run', '--debug'], stdin, env)
      const some = someCells([withVariable, withDebug], () => stdin !== undefined)
      const variable = (await some[0]?.()) ?? structured
      const debug = (await some[1]?.()) ?? plain

      expect(server.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
      if (!readsFirst.has(id)) expect(server.requests).to.deep.equal([])
      expect(fingerprint(sandbox.home)).to.deep.equal(before)
      for (const { exitCode, stdout, stderr } of [plain, structured, variable, debug]) {
        expect(exitCode, stderr).to.equal(0)
        expect(stdout + stderr).not.to.contain(password)
        expect(stdout + stderr).not.to.contain(key)
      }
      expect(variable).to.deep.equal(structured)
      const shown = JSON.parse(
        structured.stdout
          .replaceAll(keyId, keyToRevoke)
          .replaceAll(sessionId, sessionToRevoke)
          .replaceAll(sandbox.home, '~')
          .replaceAll(server.url, 'SERVICE'),
      )
      if (!request) return expect(shown).to.deep.equal(change)
      const [method = '', path = ''] = request.split(' ')
      expect(shown).to.deep.equal({ method, url: `SERVICE${path}`, ...(body !== undefined && { body }) })
      expect(plain.stdout.split('\n')[0]).to.equal(`${method} ${server.url}${path}`)
      expect(plain.stderr).to.equal('')
    })
  }

  it('rejects what the real run would reject', async () => {
    for (const line of [
      'settings set limits.max_tokens=many',
      'users create --generate-password --fields nmae',
    ])
      expectFailure(await run([...line.split(' '), '--dry-run']), 2)
  })

  it('does not start the embedded service', async () => {
    using fresh = createSandbox()
    const line = 'settings set theme.mode=dark --profile local --dry-run --json'
    const { stdout } = expectSuccess(await runChatctl(fresh, line.split(' ')))
    expect(JSON.parse(stdout)).to.deep.include({ method: 'PATCH', url: 'local:/v1/settings' })
    expect(globSync('**/*.db*', { cwd: fresh.home })).to.deep.equal([])
  })

  it('reads the request body from a file and hides the passwords in it', async () => {
    const path = join(sandbox.home, 'body.json')
    writeFileSync(path, '{"password":"canary-password-of-a-dry-run","list":[{"password":"canary"}]}')
    const { stdout } = await run(['api', 'PUT', '/v1/x', '--data', `@${path}`, '--dry-run', '--json'])
    const hidden = { password: '[redacted]' }
    expect(JSON.parse(stdout).body).to.deep.equal({ ...hidden, list: [hidden] })
  })
})

/** Sends a request to the service. */
function forwardTo(service: { url: string }): Behavior {
  return async ({ method, path, headers: { authorization = '' }, body }, response) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answered = await fetch(service.url + path, { method, headers, body: body || null })
    response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' })
    response.end(await answered.text())
  }
}

const refusal = (what: string, from = 'CHATCTL_READ_ONLY'): string =>
  `${what} is refused, because read-only mode is on (${from})`

describe('read-only mode', function () {
  this.timeout(60_000)
  const otherMachine = perSuite(createSandbox)
  const service = perSuite(
    () => serveInProcess(otherMachine),
    (started) => started.stop(),
  )
  const proxy = perSuite(() => startScriptedServer(forwardTo(service)))
  const sandbox = perSuite(createSandbox)
  let key: string
  /** The commands that only read, one per line. */
  let reading: string

  const run = (line: string | readonly string[], env: NodeJS.ProcessEnv = {}, stdin = '') => {
    const mode = { CHATCTL_BASE_URL: proxy.url, CHATCTL_API_KEY: key, CHATCTL_READ_ONLY: '1' }
    const words = typeof line === 'string' ? line.split(' ').filter(Boolean) : line
    return runChatctl(sandbox, words, { env: { ...mode, ...env }, stdin })
  }
  const local = { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '', CHATCTL_PROFILE: 'local' }
  const succeed = async (...given: Parameters<typeof run>) => expectSuccess(await run(...given)).stdout
  /** Files that no flag names, without the index of transcripts, which is a cache. */
  const ownFiles = () => {
    const all = Object.entries(fingerprint(sandbox.home))
    return all.filter(([path]) => path.startsWith('.') && !/mirrors.sessions\.db$|users\.json$/.test(path))
  }

  before(async () => {
    key = await makeKey(otherMachine)
    for (const [name, text] of Object.entries(exampleFiles)) writeFileSync(join(sandbox.home, name), text)
    const guarded = { base_url: proxy.url, read_only: 'on' }
    const outdated = { read_only: 'on', timeout: 'soon' }
    const profiles = { work: {}, guarded, outdated, misspelled: { read_only: 'yes' } }
    mkdirSync(join(sandbox.home, '.config/chatctl'), { recursive: true })
    mkdirSync(join(sandbox.home, 'checkout'))
    const configuration = JSON.stringify({ profiles, directories: { '~/checkout': 'outdated' } })
    writeFileSync(join(sandbox.home, '.config/chatctl/config.json'), configuration)
    const off = { ...local, CHATCTL_READ_ONLY: '' }
    const login = `auth login -p signed-in --base-url ${proxy.url} --with-api-key --insecure-storage`
    await succeed(login, { ...off, CHATCTL_PROFILE: '' }, key)
    await succeed('chat send Hello', off)
    reading = await succeed(['commands', '--jq', '.[] | select(.effect == "reads").name'], off)
  })
  beforeEach(() => {
    proxy.requests.length = 0
  })

  for (const entry of commands.filter(({ hidden, id }) => !hidden && id !== 'api'))
    it(`refuses a change, and sends only GET requests: the examples of ${entry.id}`, async () => {
      const name = entry.id.replaceAll(':', ' ')
      const before = ownFiles()
      for (const line of someCells(exampleWords(entry).slice(0, 2), (_, index) => index === 0)) {
        const words = line.filter((word) => word !== '--dry-run')
        const ended = { ...(await run(words, { CHATCTL_JSON: '1' })), requests: proxy.requests }
        const isExchange = name === 'auth token' && words.includes('--permission')
        const message = refusal(isExchange ? 'The token exchange' : `chatctl ${name}`)
        const error = { code: 'read_only', message }
        // A session has only text output.
        const stderr = name === 'chat' ? `Error: ${error.message}\n` : `${JSON.stringify({ error })}\n`
        if (reading.split('\n').includes(name) && !isExchange) expect(ended.stderr).not.to.match(/read.only/)
        else expect(ended).to.deep.equal({ exitCode: 2, stdout: '', stderr, requests: [] })
      }
      expect(proxy.requests.filter(({ method }) => method !== 'GET')).to.deep.equal([])
      expect(ownFiles()).to.deep.equal(before)
    })

  it('lets GET and HEAD through, and refuses every other method of chatctl api', async () => {
    for (const method of ['GET', 'HEAD']) await succeed(`api ${method} /v1/settings`)
    const post = 'api POST /api/chat/send --field message=Hello'
    for (const env of [{}, local]) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'Post']) {
        const stderr = `Error: ${refusal(`The ${method.toUpperCase()} request`)}\n`
        expect(await run(post.replace('POST', method), env)).to.deep.include({ exitCode: 2, stderr })
      }
    }
    await succeed(post, { CHATCTL_READ_ONLY: '0' })
    expect(proxy.requests.map(({ method }) => method)).to.deep.equal(['GET', 'HEAD', 'POST'])
  })

  const isRefused = async (line: string, env: NodeJS.ProcessEnv, what: string, from?: string) =>
    expectFailure(await run(line, env), 2, refusal(what, from))

  it('refuses a message without a command, and shows what a dry run would send or change', async () => {
    expectFailure(await run(['What is a write-ahead log?']), 2, refusal('chatctl chat send'))
    expectFailure(await run('auth token --permission read:chat'), 2, refusal('The token exchange'))
    expect(await succeed('users update u1 --name Ada --dry-run')).to.contain('PATCH')
    expect(await succeed('api POST /v1/x --dry-run')).to.contain('POST')
    expect(await succeed('config set read_only off --dry-run')).to.contain('read_only')
    expect(proxy.requests).to.deep.equal([])
  })

  it('changes no help, version, or completion', async () => {
    for (const line of ['', '--version', 'users create --help', 'complete -- config set read_only o']) {
      const shown = await succeed(line)
      expect(shown).to.match(/chatctl|^off\non$/m)
      expect(await succeed(line, { CHATCTL_READ_ONLY: '' })).to.equal(shown)
    }
  })

  const ofProfile = (profile: string, value = '') => {
    return { CHATCTL_BASE_URL: '', CHATCTL_PROFILE: profile, CHATCTL_READ_ONLY: value }
  }

  it('of a profile is turned off by no command or variable, and applies to no other profile', async () => {
    const from = 'profile guarded'
    const before = ownFiles()
    for (const env of ['', '0', 'Off', 'FALSE', 'no'].map((value) => ofProfile('guarded', value))) {
      await isRefused('config set read_only off', env, 'chatctl config set', from)
      await isRefused('config unset read_only', env, 'chatctl config unset', from)
      await isRefused('api POST /x', env, 'The POST request', from)
      expect(await succeed('config list -o tsv', env)).to.contain(`\nread_only\ton\tprofile\t${from}\n`)
      await succeed('settings get', env)
    }
    expect(ownFiles()).to.deep.equal(before)
    await succeed('config set model x', ofProfile('work'))
  })

  it('is not off because a value is invalid', async () => {
    for (const name of ['outdated', 'misspelled']) {
      await isRefused('config set read_only off', ofProfile(name), 'chatctl config set', `profile ${name}`)
      await succeed('config path', ofProfile(name))
    }
    const inDirectory = { cwd: join(sandbox.home, 'checkout') }
    for (const words of ['set read_only off', 'unset directory.~/checkout', 'set model x']) {
      const refused = await runChatctl(sandbox, `config ${words}`.split(' '), inDirectory)
      expectFailure(refused, 2, 'read-only mode is on (profile outdated)')
    }
    expectFailure(await run('settings get', ofProfile('misspelled')), 2, 'read_only: "yes" is neither on nor')
    for (const line of ['settings get', 'settings set app_name=x', 'config set model x', 'doctor', 'chat'])
      expectFailure(await run(line, { CHATCTL_READ_ONLY: 'ja' }), 2, 'CHATCTL_READ_ONLY: "ja" is not 1, 0,')
  })
})
