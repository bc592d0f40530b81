import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../src/talk/transcript/transcript-writer.ts'
import { makeCertificate } from '../support/certificate.ts'
import {
  answer,
  type FaultServer,
  failing,
  json,
  limited,
  type RecordedRequest,
  type Script,
  silent,
  startFaultServer,
} from '../support/fault-server.ts'
import { additions } from '../support/flag-table.ts'
import { commands } from '../support/manifest.ts'
import { plantBrowserSession } from '../support/plant-browser-session.ts'
import { type Run, type RunOptions, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** Every flag that is declared changes something that can be seen from outside. */

let sandbox: Sandbox
let server: FaultServer | undefined

interface Result extends Run {
  requests: readonly RecordedRequest[]
  elapsed: number
}

async function run(
  args: readonly string[],
  script: Script = json(200, {}),
  options: RunOptions = {},
): Promise<Result> {
  await server?.close()
  server = await startFaultServer(script)
  const started = Date.now()
  const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', ...options.env }
  const done = await runChatctl(sandbox, args, { ...options, env })
  return { ...done, requests: server.requests, elapsed: Date.now() - started }
}

/** Runs something on this machine, where no service is meant. */
function runHere(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  return runChatctl(sandbox, args, { env })
}

function file(name: string, text: string): string {
  const path = join(sandbox.home, name)
  writeFileSync(path, text)
  return path
}

const create = ['users', 'create', '--generate-password']

/** Flags with an effect of another kind, each with a test of its own below. */
const others: Record<string, () => Promise<void>> = {
  'api include': async () => {
    const { stdout } = await run(['api', 'GET', '/x', '-i'], answer(202, { 'x-one': '1' }, 'text'))
    expect(stdout).to.match(/^HTTP 202 Accepted\n(.+\n)*x-one: 1\n(.+\n)*\ntext$/)
  },
  'users:create generate-password': async () => {
    const { requests, stdout } = await run([...create, '--jq', '.generated_password'])
    expect(JSON.parse(requests[0]?.body ?? '').password).to.equal(stdout.trim())
    expect(stdout.trim()).to.match(/^[\w.-]{24}$/)
  },
  'history:export context': async () => {
    const page = json(200, { messages: [], has_more: false })
    const asked = async (...flag: string[]) =>
      (await run(['history', 'export', ...flag], page)).requests.map(({ path }) =>
        path.includes('context_id=c+1'),
      )
    expect(await asked()).to.deep.equal([false])
    expect(await asked('-c', 'c 1')).to.deep.equal([true])
  },
  'chat:send continue': async () => {
    const sent = { response: 'x', context_id: 'c-kept' }
    await run(['chat', 'send', 'x'], json(200, sent), { env: { CHATCTL_API_KEY: 'k' } })
    const address = server?.url ?? ''
    const again = await runChatctl(sandbox, ['chat', 'send', 'y', '--continue'], {
      env: { CHATCTL_BASE_URL: address, CHATCTL_API_KEY: 'k' },
    })
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(JSON.parse(server?.requests[1]?.body ?? '')).to.deep.include({
      message: 'y',
      context_id: 'c-kept',
    })
    const elsewhere = await run(['chat', 'send', 'y', '--continue'])
    expect(elsewhere).to.include({ exitCode: 2 })
    expect(elsewhere.requests).to.deep.equal([])
  },
  'chat:send stream': async () => {
    const reply = json(200, { id: 'm', response: 'x', context_id: 'c', created_at: 't' })
    const bodyOf = async (...flags: string[]) => {
      const { requests } = await run(['chat', 'send', 'x', ...flags], reply)
      return JSON.parse(requests[0]?.body ?? '')
    }
    expect(await bodyOf('--stream')).to.deep.equal({ message: 'x', stream: true })
    expect(await bodyOf('--no-stream')).to.deep.equal({ message: 'x' })
    const { stdout } = await run(['chat', 'send', 'x', '--stream', '--json'], reply)
    expect(stdout).to.match(/^\{"v":1,"type":"start"/)
  },
  'chat:send stream-format': async () => {
    const body = 'data: {"delta":"Hi"}\n\ndata: [DONE]\n\n'
    const script = answer(200, { 'content-type': 'text/event-stream' }, body)
    const send = ['chat', 'send', 'x']
    const raw = await run([...send, '--stream-format', 'text'], script)
    expect(raw).to.include({ exitCode: 0, stdout: `${body}` })
    expect(JSON.parse(raw.requests[0]?.body ?? '')).to.include({ stream: true })
    expect(await run([...send, '--stream-format', 'auto'], script)).to.include({ stdout: 'Hi\n' })
    const unstreamed = await run([...send, '--no-stream', '--stream-format', 'sse'], script)
    expect(unstreamed).to.include({ exitCode: 2 })
    expect(unstreamed.requests).to.deep.equal([])
    expect(await run([...send, '--stream-format', 'xml'], script)).to.include({ exitCode: 2 })
  },
  'chat:sessions all': async () => {
    const folder = join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const writer = TranscriptWriter.create(folder, { profile: 'other', baseUrl: 'https://other.example/' })
    writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Hi' })
    writer.close()
    const args = ['chat', 'sessions', '--fields', 'id']
    expect((await runHere(args)).stdout).to.equal('')
    expect((await runHere([...args, '--all'])).stdout).to.equal(`${writer.id}\n`)
  },
  'auth:status verify': async () => {
    const asked = await run(['auth', 'status', '--jq', '.verified'], json(200, { id: 'u1' }))
    expect(asked).to.include({ exitCode: 0, stdout: 'true\n' })
    const unasked = await run(['auth', 'status', '--no-verify', '--jq', '.verified'])
    expect(unasked).to.include({ exitCode: 0, stdout: 'false\n' })
    expect(unasked.requests).to.deep.equal([])
  },
  'auth:login with-api-key, insecure-storage': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--with-api-key', '--json', '--no-verify']
    const refused = await run(login, profile, {
      stdin: 'a-key',
      env: { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' },
    })
    expect(refused).to.include({ exitCode: 4, stdout: '' })
    const kept = await run([...login, '--insecure-storage'], profile, { stdin: 'a-key' })
    expect(JSON.parse(kept.stdout)).to.include({ kind: 'api_key', storage: 'file' })
  },
  'auth:login verify': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--with-api-key', '--insecure-storage']
    const asked = await run(login, failing(401, 'unauthorized', 'no'), { stdin: 'a-key' })
    expect(asked).to.include({ exitCode: 4 })
    expect(asked.requests).to.have.length(1)
    const unasked = await run([...login, '--no-verify'], failing(401, 'unauthorized', 'no'), {
      stdin: 'a-key',
    })
    expect(unasked).to.include({ exitCode: 0 })
    expect(unasked.requests).to.deep.equal([])
  },
  'auth:login web': async () => {
    const login = ['auth', 'login', '--profile', 'kept', '--web']
    expect(await run(login)).to.include({ exitCode: 3 })
    expect(await run([...login, '--with-api-key'])).to.include({ exitCode: 2 })
  },
  'auth:logout all, yes': async () => {
    const login = ['auth', 'login', '--with-api-key', '--insecure-storage', '--no-verify', '--profile']
    for (const name of ['one', 'two']) await run([...login, name], profile, { stdin: 'a-key' })
    expect(await runHere(['auth', 'logout', '--all'])).to.include({ exitCode: 3 })
    const { stdout } = await runHere([
      'auth',
      'logout',
      '--all',
      '--yes',
      '--jq',
      '.[] | select(.signed_out).profile',
    ])
    expect(stdout.split('\n')).to.include.members(['one', 'two'])
  },
  'service:keys:create name': async () => {
    expect((await runHere(['service', 'keys', 'create', '--name', 'one', '--jq', '.name'])).stdout).to.equal(
      'one\n',
    )
    expect((await runHere(['service', 'keys', 'create'])).exitCode).to.equal(2)
  },
  'service:keys:create tier': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.limit']
    expect((await runHere(args)).stdout).to.equal('100\n')
    expect((await runHere([...args, '--tier', 'pro'])).stdout).to.equal('1000\n')
  },
  'service:keys:create limit': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.limit', '--tier', 'enterprise']
    expect((await runHere([...args, '--limit', '7'])).stdout).to.equal('7\n')
  },
  'service:keys:create user': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.user_id', '--user']
    expect((await runHere([...args, 'Admin@localhost'])).stdout).to.equal('usr_admin\n')
    expect((await runHere([...args, 'nobody@localhost'])).exitCode).to.equal(6)
  },
  'service:keys:create permission': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.permissions | tojson']
    const two = ['--permission', 'read:chat', '--permission', '*:users']
    expect((await runHere([...args, ...two])).stdout).to.equal('["read:chat","*:users"]\n')
    expect((await runHere([...args, '--permission', 'all'])).stdout).to.equal('null\n')
    const slip = await runHere([...args, '--permission', 'read:chta'])
    expect(slip.exitCode).to.equal(2)
    expect(slip.stderr).to.contain('Did you mean read:chat?')
  },
  'service:keys:create expires': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.expires_at', '--expires']
    expect((await runHere([...args, '2999-01-31'])).stdout).to.equal('2999-01-31T00:00:00.000Z\n')
    expect((await runHere([...args, 'never'])).stdout).to.equal('null\n')
    const days = Date.parse((await runHere([...args, '30d'])).stdout.trim()) - Date.now()
    expect(days / 86_400_000).to.be.within(29.9, 30)
    expect((await runHere([...args, '2001-01-31'])).exitCode).to.equal(2)
    expect((await runHere([...args, 'soon'])).exitCode).to.equal(2)
  },
  'service:keys:update name, tier, limit, permission, expires, data': async () => {
    const dir = dataDirectory('update')
    const made = ['service', 'keys', 'create', '--name', 'one', '--data', dir, '--jq', '.id']
    const id = (await runHere(made)).stdout.trim()
    const update = ['service', 'keys', 'update', id, '--json', '--data', dir]
    const flags = ['--name', 'two', '--tier', 'enterprise', '--limit', '7', '--permission', 'read:chat']
    const changed = JSON.parse((await runHere([...update, ...flags, '--expires', '2999-01-31'])).stdout)
    expect(changed).to.include({ id, name: 'two', tier: 'enterprise', limit: 7 })
    expect(changed).to.include({ expires_at: '2999-01-31T00:00:00.000Z' })
    expect(changed.permissions).to.deep.equal(['read:chat'])
    const lifted = await runHere([...update, '--permission', 'all', '--expires', 'never', '--tier', 'pro'])
    expect(JSON.parse(lifted.stdout)).to.include({ limit: 1000, permissions: null, expires_at: null })
    expect((await runHere(update)).exitCode).to.equal(2)
    expect((await runHere([...update.slice(0, 5), '--name', 'three'])).exitCode).to.equal(6)
  },
  'service:admin:create name, password-stdin, password-file, data': async () => {
    const dir = dataDirectory('admin')
    const create = ['service', 'admin', 'create', 'Ada@example.com', '--data', dir, '--jq', '.name']
    const secret = ['--password-file', file('admin-password.txt', 'long enough\n')]
    expect((await runHere([...create, '--name', 'Ada', ...secret])).stdout).to.equal('Ada\n')
    const again = await runHere([...create, ...secret])
    expect(again.exitCode).to.equal(7)
    expect(again.stderr).to.contain('service users reset')
    const other = ['service', 'admin', 'create', 'bob@example.com', '--data', dir, '--jq', '.email']
    const piped = await runChatctl(sandbox, [...other, '--password-stdin'], { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('bob@example.com\n')
  },
  'service:users:reset password-stdin, password-file, data': async () => {
    const dir = dataDirectory('reset')
    const secret = ['--password-file', file('admin-password.txt', 'long enough\n')]
    await runHere(['service', 'admin', 'create', 'ada@example.com', '--data', dir, ...secret])
    const reset = ['service', 'users', 'reset', 'Ada@example.com', '--data', dir, '--jq', '.role']
    expect((await runHere([...reset, ...secret])).stdout).to.equal('admin\n')
    const piped = await runChatctl(sandbox, [...reset, '--password-stdin'], { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('admin\n')
    expect((await runHere([...reset, '--password-file', file('short', 'x')])).exitCode).to.equal(2)
    const none = ['service', 'users', 'reset', 'none@example.com', '--data', dir]
    expect((await runHere([...none, ...secret])).exitCode).to.equal(6)
  },
  'service:audit since, until, actor, action, target, limit, data': async () => {
    const dir = dataDirectory('audit')
    const made = ['service', 'keys', 'create', '--name', 'one', '--data', dir, '--jq', '.id']
    const [one, two] = [(await runHere(made)).stdout.trim(), (await runHere(made)).stdout.trim()]
    await runHere(['service', 'keys', 'update', one, '--name', 'two', '--data', dir])
    const seen = async (...flags: string[]) => {
      const args = ['service', 'audit', '--data', dir, '--jq', '[.[] | .action, .target] | join(" ")']
      return (await runHere([...args, ...flags])).stdout.trim()
    }
    const [first, second, third] = [`key.create ${one}`, `key.create ${two}`, `key.update ${one}`]
    expect(await seen()).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--limit', '2')).to.equal(`${second} ${third}`)
    expect(await seen('--action', 'key.create')).to.equal(`${first} ${second}`)
    expect(await seen('--action', 'key', '--target', two)).to.equal(second)
    expect(await seen('--action', 'ke')).to.equal('')
    expect(await seen('--actor', 'machine')).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--actor', 'admin@localhost')).to.equal('')
    expect(await seen('--since', '1h')).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--until', '1h')).to.equal('')
    expect(await seen('--since', '2999-01-01')).to.equal('')
  },
  'service:keys:create data': async () => {
    const dir = dataDirectory('create')
    await runHere(['service', 'keys', 'create', '--name', 'one', '--data', dir])
    expect(existsSync(dir)).to.equal(true)
  },
  'service:keys:list data': async () => {
    const dir = dataDirectory('list')
    await runHere(['service', 'keys', 'create', '--name', 'only', '--data', dir])
    expect((await runHere(['service', 'keys', 'list', '--data', dir, '--jq', '.[].name'])).stdout).to.equal(
      'only\n',
    )
  },
  'service:backup to, data': async () => {
    const dir = dataDirectory('backup')
    await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir])
    const copy = join(sandbox.home, 'copy.db')
    const { stdout } = await runHere(['service', 'backup', '--to', copy, '--data', dir, '--jq', '.file'])
    expect(stdout).to.equal(`${copy}\n`)
    expect(existsSync(copy)).to.equal(true)
    const refused = await runHere(['service', 'backup', '--to', '-', '--data', dir], { cwd: sandbox.home })
    expect(refused).to.include({ exitCode: 2, stdout: '' })
    expect(existsSync(join(sandbox.home, '-'))).to.equal(false)
  },
  'service:restore data, yes': async () => {
    const dir = dataDirectory('restore')
    await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir])
    const copy = join(sandbox.home, 'to-restore.db')
    await runHere(['service', 'backup', '--to', copy, '--data', dir])
    const other = dataDirectory('restored')
    const args = ['service', 'restore', copy, '--data', other]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect(existsSync(other)).to.equal(false)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(0)
    expect((await runHere(['service', 'keys', 'list', '--data', other, '--jq', '.[].name'])).stdout).to.equal(
      'x\n',
    )
  },
  'service:keys:revoke data': async () => {
    const dir = dataDirectory('revoke')
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir, '--jq', '.id'])
    const id = made.stdout.trim()
    expect((await runHere(['service', 'keys', 'revoke', id, '--yes'])).exitCode).to.equal(6)
    expect((await runHere(['service', 'keys', 'revoke', id, '--yes', '--data', dir])).exitCode).to.equal(0)
  },
  'service:keys:revoke yes': async () => {
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--jq', '.id'])
    const args = ['service', 'keys', 'revoke', made.stdout.trim()]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect((await runHere(args, { CHATCTL_YES: '1' })).exitCode).to.equal(0)
  },
  'service:users:list data': async () => {
    const dir = dataDirectory('users-list')
    expect((await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir])).exitCode).to.equal(0)
    const list = ['service', 'users', 'list', '--jq', '.[] | [.id, .role]']
    expect(JSON.parse((await runHere([...list, '--data', dir])).stdout)).to.deep.equal(['usr_admin', 'admin'])
    expect((await runHere([...list, '--data', dataDirectory('nobody')])).stdout).to.equal('')
  },
  'service:sessions:list data': async () => {
    const dir = dataDirectory('sessions')
    const id = await plantBrowserSession(dir)
    expect((await runHere(['service', 'sessions', 'list', '--data', dir, '--jq', '.[].id'])).stdout).to.equal(
      `${id}\n`,
    )
  },
  'service:sessions:revoke data, yes': async () => {
    const dir = dataDirectory('sessions-revoke')
    const id = await plantBrowserSession(dir)
    const args = ['service', 'sessions', 'revoke', id, '--data', dir]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect((await runHere([...args.slice(0, 4), '--yes'])).exitCode).to.equal(6)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(0)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(6)
  },
  'service:status data': async () => {
    const dir = dataDirectory('status')
    expect((await runHere(['service', 'status', '--data', dir, '--jq', '.data'])).stdout).to.equal(`${dir}\n`)
  },
  'service:run host, port, data, upstream, upstream-key-file': async () => {
    server = await startFaultServer(
      json(200, { choices: [{ message: { role: 'assistant', content: 'From above' } }] }),
    )
    const dir = dataDirectory('run')
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir, '--jq', '.key'])
    const port = await findFreePort()
    const upstream = [
      '--upstream',
      `${server.url}/v1`,
      '--upstream-key-file',
      file('up.key', 'upstream-key\n'),
    ]
    await serve(['--host', '127.0.0.1', '--port', String(port), '--data', dir, ...upstream], async (url) => {
      expect(url).to.equal(`http://127.0.0.1:${port}`)
      const { stdout, stderr } = await runHere(['chat', 'complete', 'Hi', '--model', 'm'], {
        CHATCTL_BASE_URL: url,
        CHATCTL_API_KEY: made.stdout.trim(),
      })
      expect(stdout, stderr).to.equal('From above\n')
      expect(server?.requests.at(-1)?.headers.authorization).to.equal('Bearer upstream-key')
    })
  },
  'service:run tls-cert, tls-key': async () => {
    const { cert, key } = makeCertificate('127.0.0.1')
    const files = ['--tls-cert', file('tls.crt', cert), '--tls-key', file('tls.key', key)]
    await serve(['--port', '0', ...files], async (url) => {
      expect(url).to.match(/^https:/)
    })
    const run = ['service', 'run', '--port', '0']
    expect(await runHere([...run, '--tls-cert', 'x'])).to.include({ exitCode: 2 })
    expect(await runHere([...run, '--tls-key', 'x'])).to.include({ exitCode: 2 })
  },
  'service:run behind-proxy': async () => {
    const open = ['service', 'run', '--host', '0.0.0.0', '--port', '0']
    const refused = await runHere(open)
    expect(refused).to.include({ exitCode: 2, stdout: '' })
    expect(refused.stderr).to.include('--tls-cert').and.include('--behind-proxy')
    await serve([...open.slice(2), '--behind-proxy'], async (url) => {
      expect((await fetch(`${url}/healthz`)).status).to.equal(200)
    })
  },
  'service:run public-url': async () => {
    await serve(['--port', '0', '--public-url', 'https://chat.example'], async (url) => {
      expect(await (await fetch(url)).text()).to.include('--base-url https://chat.example<')
    })
  },
  'service:run admin-port': async () => {
    const adminOf = async (...flag: string[]) => {
      let admin: unknown
      await serve(['--port', '0', ...flag], async () => {
        admin = JSON.parse((await runHere(['service', 'status', '--json'])).stdout).running.admin_url
      })
      return admin
    }
    const port = await findFreePort()
    expect(await adminOf('--admin-port', String(port))).to.equal(`http://127.0.0.1:${port}`)
    expect(await adminOf('--admin-port', 'off')).to.equal(null)
    expect(await adminOf()).to.match(/^http:/)
    for (const none of ['65536', '-1', 'on', '1.5']) {
      expect(await runHere(['service', 'run', '--admin-port', none]), none).to.include({ exitCode: 2 })
    }
  },
  'service:run log-level': async () => {
    const quiet = await serve(['--port', '0', '--log-level', 'silent'], async () => {})
    const loud = await serve(['--port', '0', '--log-level', 'trace'], async (url) => {
      await fetch(`${url}/v1/settings`)
    })
    expect(quiet).to.equal('')
    expect(await serve(['--port', '0', '-q'], async () => {})).to.equal('')
    expect(await serve(['--port', '0', '-q', '--log-level', 'info'], async () => {})).not.to.equal('')
    expect(JSON.parse(loud.split('\n')[0] ?? '')).to.be.an('object')
  },
}

function dataDirectory(name: string): string {
  return join(sandbox.home, `data-${name}`)
}

async function findFreePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** @returns what it logged */
async function serve(flags: string[], use: (url: string) => Promise<void>): Promise<string> {
  const { stdin, stdout, interrupt, ended } = startChatctl(sandbox, ['service', 'run', ...flags])
  stdin.end()
  const [chunk = ''] = await Promise.race([once(stdout, 'data'), ended.then(() => [])])
  try {
    const url = String(chunk).trim()
    expect(url).to.match(/^https?:/)
    await use(url)
  } finally {
    interrupt('SIGTERM')
  }
  return (await ended).stderr
}

/** The shared flags: each on one command, as a flag and as its variable. */
interface SharedFlag {
  flag: string[]
  env: NodeJS.ProcessEnv
  args: string[]
  script: Script
  /** Whether what a run did shows that the flag was there. */
  shows(result: Result): boolean
}

const profile = json(200, { id: 'u1', email: 'a@b' })
const shared: Record<string, SharedFlag> = {
  profile: {
    flag: ['--profile', 'nowhere'],
    env: { CHATCTL_PROFILE: 'nowhere' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ exitCode, stderr }) => exitCode === 2 && stderr.includes('no profile "nowhere"'),
  },
  'base-url': {
    flag: ['--base-url', 'https://no-such-host.invalid'],
    env: { CHATCTL_BASE_URL: 'https://no-such-host.invalid' },
    args: ['api', 'GET', '/x', '--dry-run'],
    script: profile,
    shows: ({ stdout }) => stdout === 'GET https://no-such-host.invalid/x\n',
  },
  output: {
    flag: ['-o', 'csv'],
    env: { CHATCTL_OUTPUT: 'csv' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ stdout }) => stdout === 'key,value\nid,u1\nemail,a@b\n',
  },
  json: {
    flag: ['--json'],
    env: { CHATCTL_JSON: '1' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ stdout }) => stdout.startsWith('{'),
  },
  fields: {
    flag: ['--fields', 'email'],
    env: { CHATCTL_FIELDS: 'email' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ stdout }) => stdout === 'email\ta@b\n',
  },
  jq: {
    flag: ['--jq', '.id'],
    env: { CHATCTL_JQ: '.id' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ stdout }) => stdout === 'u1\n',
  },
  quiet: {
    flag: ['-q'],
    env: { CHATCTL_QUIET: '1' },
    args: ['users', 'update', 'u1', '--name', 'x'],
    script: answer(200, {}, 'done'),
    shows: ({ stderr }) => stderr === '',
  },
  debug: {
    flag: ['--debug'],
    env: { CHATCTL_DEBUG: '1' },
    args: ['users', 'profile'],
    script: profile,
    shows: ({ stderr }) => /^> GET .*\n> GET .* sent\n< 200 OK/.test(stderr),
  },
  timeout: {
    flag: ['--timeout', '300ms'],
    env: { CHATCTL_TIMEOUT: '300ms' },
    args: ['users', 'update', 'u1', '--name', 'x'],
    script: silent,
    shows: ({ stderr }) => /no answer within 300 ms/.test(stderr),
  },
  retries: {
    flag: ['--retries', '0'],
    env: { CHATCTL_RETRIES: '0' },
    args: ['users', 'profile'],
    script: failing(500, 'x', 'x'),
    shows: ({ requests }) => requests.length === 1,
  },
  'max-wait': {
    flag: ['--max-wait', '0'],
    env: { CHATCTL_MAX_WAIT: '0' },
    args: ['users', 'profile'],
    script: [limited({ 'retry-after': '1' }), profile],
    shows: ({ exitCode, requests }) => exitCode === 75 && requests.length === 1,
  },
  'no-color': {
    flag: ['--no-color'],
    env: { CHATCTL_NO_COLOR: '1' },
    args: ['users', 'profile'],
    script: failing(404, 'x', 'x'),
    shows: ({ stderr }) => stderr === 'Error: x\n',
  },
}
/** What only a terminal can show. */
const onTerminals = ['no-input']

const tests = join(import.meta.dirname, '..')
const otherTests = globSync('**/*.test.ts', { cwd: tests })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path !== 'cli/flags.test.ts')
  .map((path) => ({ path, text: readFileSync(join(tests, path), 'utf8') }))

/** Whether a test calls a command, or is about its topic, and names the flag. */
function isTriedElsewhere(id: string, flag: string): boolean {
  const words = id.split(':')
  const calls = new RegExp(`'${words.join("', '")}'|${words.join(' ')} `)
  const gives = new RegExp(`--(no-)?${flag}(?![\\w-])`)
  return otherTests.some(
    ({ path, text }) => (calls.test(text) || path.startsWith(`${words[0]}/`)) && gives.test(text),
  )
}

describe('flags', function () {
  this.timeout(60_000)
  before(() => {
    sandbox = createSandbox()
  })
  afterEach(async () => {
    await server?.close()
    server = undefined
  })
  after(() => sandbox.remove())

  it('are all tried, here or by another test that calls the command with it', () => {
    const tried = new Set([
      ...additions.map(({ name }) => name),
      ...Object.keys(others).flatMap((name) => {
        const [command, ...flags] = name.split(/,? /)
        return flags.map((flag) => `${command} ${flag}`)
      }),
    ])
    const declared = commands.flatMap(({ id, flags }) =>
      Object.values(flags)
        .filter(({ helpGroup }) => helpGroup !== 'GLOBAL')
        .map(({ name, summary }) => ({ id, name, summary })),
    )
    const isTried = ({ id, name }: { id: string; name: string }) =>
      tried.has(`${id} ${name}`) || isTriedElsewhere(id, name)
    // Flags that say the same are declared once, for several commands.
    const isSame = (one: (typeof declared)[number]) => (other: typeof one) =>
      other.name === one.name && other.summary === one.summary
    const untried = declared.filter((flag) => !isTried(flag) && !declared.filter(isSame(flag)).some(isTried))
    expect(untried).to.deep.equal([])
    const all = declared.map(({ id, name }) => `${id} ${name}`)
    expect([...tried].filter((flag) => !all.includes(flag))).to.deep.equal([])
  })

  it('that all commands share are all in the tables, and all commands have them', () => {
    for (const { id, flags } of commands.filter(({ hidden }) => !hidden)) {
      const global = Object.values(flags).filter(({ helpGroup }) => helpGroup === 'GLOBAL')
      expect(global.map(({ name }) => name).sort(), id).to.deep.equal(
        [...Object.keys(shared), ...onTerminals].sort(),
      )
    }
  })

  for (const { name, to, words, files = {}, stdin = '', ...adds } of additions) {
    it(`${name} is in the request`, async () => {
      for (const [path, text] of Object.entries(files)) file(path, text)
      const args = to.split(' ')
      const [without, given] = [await run(args), await run([...args, ...words], undefined, { stdin })]
      const [before, after] = [without.requests[0], given.requests[0]]
      expect(after, given.stderr).not.to.equal(undefined)
      if (adds.body) {
        expect(JSON.parse(after?.body ?? '')).to.deep.include(adds.body)
        expect(JSON.parse(before?.body || '{}')).not.to.deep.include(adds.body)
      }
      if (adds.query) expect(after?.path).to.equal(`${before?.path}?${adds.query}`)
      if (adds.headers) expect(after?.headers).to.include(adds.headers)
    })
  }

  for (const [name, check] of Object.entries(others)) it(`${name}: has its effect`, check)

  for (const [name, { flag, env, args, script, shows }] of Object.entries(shared)) {
    it(`--${name} has its effect, and so has ${Object.keys(env)[0]}`, async () => {
      const colours = name === 'no-color' ? { FORCE_COLOR: '1' } : {}
      const given = await run([...args, ...flag], script, { env: colours })
      expect(shows(given), given.stdout + given.stderr).to.equal(true)
      const variable = await run(args, script, { env: { ...colours, ...env } })
      expect(shows(variable), variable.stdout + variable.stderr).to.equal(true)
      // Without it a silent service would be waited for a minute.
      if (name === 'timeout') return
      const without = await run(args, script, { env: colours })
      expect(shows(without), without.stdout + without.stderr).to.equal(false)
    })
  }
})

describe('precedence', () => {
  let home: Sandbox
  before(() => {
    home = createSandbox()
    mkdirSync(join(home.home, '.config', 'chatctl'), { recursive: true })
    const work = {
      base_url: 'https://profile.example',
      auth_url: 'https://auth-profile.example',
      client_id: 'profile-client',
      model: 'profile-model',
      output: 'json',
      timeout: '11s',
      retries: '5',
      max_wait: '12s',
    }
    writeFileSync(
      join(home.home, '.config', 'chatctl', 'config.json'),
      JSON.stringify({ default_profile: 'work', profiles: { work, other: {} } }),
    )
  })
  after(() => home.remove())

  const rows = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { stdout, stderr } = await runChatctl(home, ['config', 'list', '-o', 'tsv', ...args], { env })
    expect(stderr).to.equal('')
    return Object.fromEntries(
      stdout
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => line.split('\t'))
        .map(([key, ...rest]) => [key, rest]),
    )
  }

  it('default', async () => {
    const list = await rows(['-p', 'other'])
    expect(list).to.deep.include({
      profile: ['other', 'flag', '--profile'],
      base_url: ['', 'default', ''],
      timeout: ['60s', 'default', ''],
      retries: ['2', 'default', ''],
      max_wait: ['60s', 'default', ''],
      model: ['', 'default', ''],
    })
  })

  it('the profile goes before the default', async () => {
    const from = 'profile work'
    expect(await rows([])).to.deep.include({
      base_url: ['https://profile.example', 'profile', from],
      auth_url: ['https://auth-profile.example', 'profile', from],
      client_id: ['profile-client', 'profile', from],
      model: ['profile-model', 'profile', from],
      timeout: ['11s', 'profile', from],
      retries: ['5', 'profile', from],
      max_wait: ['12s', 'profile', from],
    })
  })

  const variables: [string, string, string][] = [
    ['base_url', 'CHATCTL_BASE_URL', 'https://variable.example'],
    ['auth_url', 'CHATCTL_AUTH_URL', 'https://auth-variable.example'],
    ['client_id', 'CHATCTL_CLIENT_ID', 'variable-client'],
    ['model', 'CHATCTL_MODEL', 'variable-model'],
    ['timeout', 'CHATCTL_TIMEOUT', '21s'],
    ['retries', 'CHATCTL_RETRIES', '6'],
    ['max_wait', 'CHATCTL_MAX_WAIT', '22s'],
  ]

  it('the environment goes before the profile', async () => {
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]))
    const list = await rows(['-p', 'work'], env)
    for (const [key, name, value] of variables) expect(list[key]).to.deep.equal([value, 'environment', name])
  })

  it('a flag goes before the environment', async () => {
    const flags = { base_url: 'https://flag.example', timeout: '31s', retries: '7', max_wait: '32s' }
    const env = Object.fromEntries(variables.map(([, name, value]) => [name, value]))
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key.replaceAll('_', '-')}`, value])
    const list = await rows(args, env)
    for (const [key, value] of Object.entries(flags))
      expect(list[key]).to.deep.equal([value, 'flag', `--${key.replaceAll('_', '-')}`])
  })

  it('an empty variable says nothing', async () => {
    expect((await rows([], { CHATCTL_TIMEOUT: '' }))['timeout']?.[1]).to.equal('profile')
  })

  it('an address for one run keeps clear of the default profile', async () => {
    const list = await rows(['--base-url', 'https://flag.example'])
    expect(list).to.deep.include({
      timeout: ['60s', 'default', ''],
      profile: ['', 'default', ''],
    })
  })

  it('the form: flag, environment, profile', async () => {
    const show = async (args: string[], env: NodeJS.ProcessEnv = {}) =>
      (await runChatctl(home, ['config', 'list', ...args], { env })).stdout
    expect(await show([])).to.match(/^\[/)
    expect(await show([], { CHATCTL_OUTPUT: 'csv' })).to.match(/^key,value,source,from\n/)
    expect(await show(['-o', 'yaml'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^- key: /)
    expect(await show(['--json'], { CHATCTL_OUTPUT: 'csv' })).to.match(/^\[/)
    expect(await show(['-o', 'csv'], { CHATCTL_JSON: '1' })).to.match(/^key,/)
  })
})
