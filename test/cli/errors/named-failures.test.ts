import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { aliases, isSentence } from '../../../src/cli/errors/aliases.ts'
import { wantsJson } from '../../../src/cli/errors/render-error.ts'
import { unknownCommand } from '../../../src/cli/errors/unknown-command.ts'
import { readLine } from '../../../src/cli/line/read-line.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  failing,
  json,
  type RecordedRequest,
  type Script,
  startScriptedServer,
} from '../../support/scripted-server.ts'

const startOf = (url: string) =>
  `If it is the embedded service, start it with: chatctl service run --port ${new URL(url).port}. To use it without a server, select it with --profile local instead of this address.`

describe('an error about a request', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  const start = async (script: Script): Promise<string> => {
    await server.serve(script)
    return server.url
  }
  /** Starts the service of the profile `work`. */
  const startWork = async (script: Script, suffix = ''): Promise<string> => {
    const url = await start(script)
    expectSuccess(await run(['config', 'set', 'base_url', url + suffix, '--profile', 'work']))
    return url
  }
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    runChatctl(sandbox, args, { env: { CHATCTL_API_KEY: 'a-key', ...env } })

  it('adds the status, the request, and the profile to the message of the service', async () => {
    const url = await startWork(failing(404, 'not_found', 'No such user.'))
    expect(await run(['users', 'get', 'u1', '--profile', 'work'])).to.include({
      stderr: `Error: No such user (404, GET ${url}/v1/users/u1, profile "work")\n`,
      exitCode: 6,
    })
  })

  it('says the same in JSON, with the status and the request as fields', async () => {
    const url = await startWork(failing(403, 'forbidden', 'Not allowed.'))
    const args = ['users', 'get', 'u1', '--profile', 'work']
    const text = await run(args)
    const { error } = JSON.parse((await run([...args, '--json'])).stderr)
    expect(text.stderr).to.equal(`Error: ${error.message}\nHint:  ${error.hint}\n`)
    expect(error).to.deep.equal({
      code: 'forbidden',
      message: `Not allowed (403, GET ${url}/v1/users/u1, profile "work")`,
      status: 403,
      hint: 'Check who is signed in with: chatctl auth status --profile work',
      request: { method: 'GET', url: `${url}/v1/users/u1` },
    })
  })

  it('names the status of a response without a message', async () => {
    const url = await start(answer(503))
    const { stderr } = await run(['users', 'get', 'u1', '--retries', '0', '--base-url', url])
    expect(stderr).to.equal(`Error: HTTP 503 Service Unavailable (GET ${url}/v1/users/u1)\n`)
  })

  it('names the embedded service instead of its port', async () => {
    const { stderr } = await run(['users', 'get', 'nobody', '--profile', 'local'], { CHATCTL_API_KEY: '' })
    expect(stderr).to.match(/^Error: .+ \(404, GET \/v1\/users\/nobody, embedded service\)$/m)
  })

  it('names the embedded service if its model does not reply in time', async () => {
    const url = await start(() => {})
    const line = ['chat', 'send', 'Hello', '--model', 'm', '--profile', 'local', '--timeout', '50ms']
    const { stderr } = await run(line, { CHATCTL_API_KEY: '', CHATCTL_MODEL_SERVER: `${url}/v1` })
    expect(stderr).to.match(/^Error: No response from the embedded service within 50 ms$/m)
  })

  it('names the profile of a service that cannot be reached, and the command that shows its address', async () => {
    const url = await startWork(json(200, {}))
    await server.close()
    expect(await run(['chat', 'models', '--retries', '0', '--profile', 'work'])).to.include({
      stderr: `Error: Cannot reach ${url}: connection refused (profile "work")\nHint:  Check the address with: chatctl config get base_url --profile work. ${startOf(url)}\n`,
      exitCode: 69,
    })
  })

  it('names doctor for a base URL that a flag gave', async () => {
    const url = await start(json(200, {}))
    await server.close()
    expect((await run(['chat', 'models', '--retries', '0', '--base-url', url])).stderr).to.equal(
      `Error: Cannot reach ${url}: connection refused\nHint:  Check the address with: chatctl doctor --base-url ${url}. ${startOf(url)}\n`,
    )
  })

  it('states once that the outcome of a redirected change is unknown', async () => {
    const url = await start(answer(302, { location: 'https://other.example/' }))
    const args = ['users', 'create', '--email', 'a@example.com', '--generate-password', '--base-url', url]
    const { exitCode, stderr } = await run(args)
    expect(exitCode).to.equal(69)
    expect(stderr).to.contain(`Error: The outcome of the change is unknown: ${url} redirects to`)
  })

  it('names the variable whose API key cannot be sent in a header', async () => {
    const url = await start(json(200, {}))
    expect(await run(['chat', 'models', '--base-url', url], { CHATCTL_API_KEY: 'a\nb' })).to.include({
      stderr:
        'Error: The API key or token contains a line break or another control character\nHint:  The API key comes from CHATCTL_API_KEY. It may be mistyped, revoked, or expired.\n',
      exitCode: 2,
    })
  })

  describe('with a base URL that ends in /v1 or /api', () => {
    const html = { 'content-type': 'text/html' }
    for (const [title, suffix, script] of [
      ['a 404', '/v1', failing(404, 'not_found', 'No such path.')],
      ['a web page', '/v1/', answer(404, html, '<!doctype html><title>Not found</title>')],
      ['a web page with status 200', '/api', answer(200, html, '<html></html>')],
    ] as const)
      it(`names the base URL as the cause, with the command that corrects it: ${title} below ${suffix}`, async () => {
        const url = await startWork(script, suffix)
        const { stderr } = await run(['chat', 'models', '--profile', 'work'])
        expect(stderr).to.contain(
          `. The base URL probably must not end in ${suffix.replace(/\/$/, '')}, because chatctl adds the path (`,
        )
        const hint = `chatctl config set base_url ${url} --profile work`
        expect(stderr).to.contain(`\nHint:  Correct the base URL with: ${hint}\n`)
        expectSuccess(await run(hint.split(' ').slice(1)))
        expect((await run(['config', 'get', 'base_url', '--profile', 'work'])).stdout).to.equal(`${url}\n`)
      })

    it('shows the corrected base URL of a flag', async () => {
      const url = await start(failing(404, 'not_found', 'No such path.'))
      const flag = await run(['chat', 'models', '--base-url', `${url}/v1`])
      expect(flag.stderr).to.contain(`\nHint:  Use this base URL: ${url}\n`)
    })

    it('has the same cause in doctor', async () => {
      const url = await startWork(failing(404, 'not_found', 'No such path.'), '/v1')
      const { stdout } = await run(['doctor', '--profile', 'work', '--json'])
      const service = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'service')
      expect(service.message).to.contain('must not end in /v1')
      expect(service.hint).to.contain(`chatctl config set base_url ${url} --profile work`)
    })

    it('does not name the base URL as the cause for a user that does not exist', async () => {
      const url = await start(failing(404, 'not_found', 'No such user.'))
      const { stderr } = await run(['users', 'get', 'u1', '--base-url', `${url}/api`])
      expect(stderr).to.equal(`Error: No such user (404, GET ${url}/api/v1/users/u1)\n`)
    })
  })
})

const visible = commands.filter(({ hidden }) => !hidden)
const ids = visible.map(({ id }) => id)

describe('the table of what other tools call a command or a flag', () => {
  it('has at most 80 rows', () => expect(Object.keys(aliases)).to.have.length.at.most(80))

  it('names commands and flags that exist', () => {
    for (const [key, value] of Object.entries(aliases)) {
      const lines = isSentence(value)
        ? [...value.matchAll(/chatctl ([a-z][^,.]*)/g)].map(([, line]) => line)
        : [value]
      for (const line of lines) {
        const words = (line ?? '').split(' ')
        if (key.startsWith('* ') || line === '--version') continue
        const { path, rest } = readLine(words, ids)
        const flags = words.filter((word) => word.startsWith('--'))
        const known = visible.flatMap(({ flags }) => Object.keys(flags))
        expect(path.length > 0 || flags.length > 0, value).to.equal(true)
        const shown = rest.filter((word) => /^[a-z]/.test(word))
        expect(shown, value).to.deep.equal([])
        for (const flag of flags) expect(known, value).to.include(flag.slice(2))
      }
    }
  })
})

describe('an unknown command', () => {
  const hintFor = (line: string) => unknownCommand(readLine(line.split(' '), ids), ids).hint

  for (const [line, hint] of [
    ['users rm u1', aliases['users delete']],
    ['user get u1', 'Did you mean: chatctl users. To send it as a message: chatctl "user get u1"'],
    ['get user u1', 'Did you mean: chatctl users get. To send it as a message: chatctl "get user u1"'],
    ['server keys ls', 'Did you mean: chatctl service. To send it as a message: chatctl "server keys ls"'],
    ['users lst', 'Did you mean: chatctl users list'],
    ['-p work users lst', 'Did you mean: chatctl users list'],
    [
      'chat Hello',
      'For one message: chatctl chat send Hello. To begin a session with it: chatctl chat -- Hello',
    ],
    ['chat search plan', 'Did you mean: chatctl history search'],
    ['search plan', 'Did you mean: chatctl history search. To send it as a message: chatctl "search plan"'],
    ['sned', 'Did you mean: chatctl chat send. To send it as a message: chatctl -- sned'],
    ['xyzzy', 'To send it as a message: chatctl -- xyzzy'],
    ['help xyzzy', 'List the commands with: chatctl --help'],
    ['users --stream', 'Put flags after the command. See: chatctl users --help'],
  ])
    it(`has the hint ${JSON.stringify(hint)}: chatctl ${line}`, () =>
      expect(hintFor(line ?? '')).to.equal(hint))

  it('does not repeat a secret in a sentence, and names the command that sends it', () => {
    for (const words of [['why is sk-abcdef refused'], ['--', 'why is sk-abcdef refused']]) {
      const { message, hint } = unknownCommand(readLine(words, ids), ids)
      expect(message).to.equal('Unknown command: chatctl (hidden, it looks like a secret)')
      expect(hint).to.contain('chatctl chat send MESSAGE').and.not.contain('sk-')
    }
  })
})

describe('a working directory that was deleted', () => {
  const sandbox = perTest(createSandbox)
  const before = process.cwd()
  afterEach(() => process.chdir(before))

  it('is reported by a command that needs it, and other commands still run', async function () {
    // Windows does not delete the working directory of a process.
    if (process.platform === 'win32') return this.skip()
    const lost = join(sandbox.home, 'lost')
    mkdirSync(lost)
    process.chdir(lost)
    rmdirSync(lost)
    const run = (...args: string[]) => runChatctl(sandbox, args, { host: { cwd: undefined } })
    expect(await run('config', 'path')).to.include({ exitCode: 0, stderr: '' })
    const words = /^Error: The working directory no longer exists\nHint: {2}Change to an existing/
    for (const line of ['service keys list --data here', 'service backup --to b', 'service restore b --yes'])
      expectFailure(await run(...line.split(' ')), 1, words)
  })
})

describe('the format of an error about an unreadable command line', () => {
  const home = { HOME: '/nonexistent' }

  const flags = [
    ...['--json', '--output json', '--output=jsonl', '-o json', '-ojson', '-o=json'],
    ...['-qo json', '-qojson', '-qo=json', '--jq .id', '--jq=.id'],
  ]
  for (const line of flags)
    it(`is JSON with ${line}`, () =>
      expect(wantsJson(['users', ...line.split(' ')], { env: home, cwd: undefined })).to.equal(true))

  for (const line of ['', '-o yaml', '-- --json', '--json -o yaml'])
    it(`is text with ${line || 'no flag'}`, () =>
      expect(wantsJson(['users', ...line.split(' ')], { env: home, cwd: undefined })).to.equal(false))

  it('follows CHATCTL_OUTPUT and CHATCTL_JQ', () => {
    expect(wantsJson([], { env: { ...home, CHATCTL_OUTPUT: 'json' }, cwd: undefined })).to.equal(true)
    expect(wantsJson([], { env: { ...home, CHATCTL_JQ: '.id' }, cwd: undefined })).to.equal(true)
  })
})

const old = { id: 'u1', email: 'ada@example.com', name: 'Old' }
const viewer = { role: 'viewer', permissions: [] }
const off = { rate_limiting: { enabled: false } }

/** A service that responds to each change with a 2xx status and other values than those that were sent. */
function respond({ method, path }: RecordedRequest): object {
  if (path === '/v1/settings') return { app_name: 'Chat' }
  if (path === '/v1/settings/api') return off
  if (path === '/api/user/settings' && method === 'PUT')
    return { success: true, settings: { theme: 'light' } }
  return path.endsWith('/permissions') ? viewer : old
}

describe('a response that contradicts the change', () => {
  const sandbox = perTest(createSandbox)
  let status: number
  const server = perTest(() =>
    startScriptedServer({
      choose: (request) => json(request.method === 'GET' ? 200 : status, respond(request)),
    }),
  )
  beforeEach(() => {
    status = 200
  })
  const run = (...args: string[]) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key-of-a-test' } })
  const write = (name: string, text: string) => writeFileSync(join(sandbox.home, name), text)

  const name = 'name did not take effect: expected "Ada", found "Old"'
  const role = 'role did not take effect: expected "admin", found "viewer"'
  const permissions = 'permissions did not take effect: expected ["read:chat"], found []'
  const rate = 'rate_limiting.enabled did not take effect: expected true, found false'
  const lines: [line: string, words: string][] = [
    ['users create --email ada@example.com --name Ada --no-password', name],
    ['users update u1 --name Ada', name],
    ['users permissions assign u1 read:chat --role admin', `${permissions}; ${role}`],
    ['users settings set --theme dark', 'settings.theme did not take effect: expected "dark", found "light"'],
    ['settings api set --rate-limiting on', rate],
  ]
  for (const [line, words] of lines)
    it(`exits 7 and names the fields: chatctl ${line}`, async () => {
      const { exitCode, stdout, stderr } = await run(...line.split(' '), '--json')
      const { error } = JSON.parse(stderr.split('\n').find((found) => found.startsWith('{"error"')) ?? '{}')
      expect({ exitCode, code: error?.code }, stderr).to.deep.equal({ exitCode: 7, code: 'conflict' })
      expect(error.message).to.equal(`The response with status 200 shows that ${words}`)
      expect(error.details.keys[0]).to.have.all.keys('path', 'expected', 'found')
      expect(stdout).to.contain('"')
    })

  it('shows the ID and the password of a user that was created', async () => {
    const line = 'users create --email ada@example.com --name Ada --generate-password'
    const done = await run(...line.split(' '))
    expect(done.exitCode, done.stderr).to.equal(7)
    expect(done.stdout).to.match(/^u1\tada@example.com\tOld\t.*\S\n$/)
    expect(done.stderr).to.contain('Check the user with: chatctl users get u1')
    expect(done.stderr).to.contain('The generated password is in ')
  })

  it('leaves the outcome unknown with status 202', async () => {
    status = 202
    const done = await run('users', 'update', 'u1', '--name', 'Ada')
    expect(done.exitCode, done.stderr).to.equal(69)
    expect(done.stderr).to.contain(
      `The outcome of the change is unknown: the response with status 202 shows that ${name}`,
    )
  })

  it('fails users apply, which sends the role again in the next run', async () => {
    write('users.csv', 'email,name,role\nada@example.com,Old,admin\n')
    await run('users', 'adopt', 'ada@example.com=u1')
    for (let times = 0; times < 2; times++) {
      const done = await run('users', 'apply', 'users.csv', '--yes')
      expect(done.exitCode, done.stderr).to.equal(7)
      expect(done.stderr).to.contain(`ada@example.com: the response with status 200 shows that ${role}`)
      expect(done.stdout).to.equal('Done: 0 users.\n')
    }
  })

  it('fails the rows of an import', async () => {
    const rows = ',ada@example.com,Ada,admin\nu1,,Ada,\nu2,,,admin\nu3,,Old,viewer\n'
    write('users.csv', `id,email,name,role\n${rows}`)
    const done = await run('users', 'import', 'users.csv', '--yes', '--json', '--results', 'results.csv')
    expect(done.exitCode, done.stderr).to.equal(9)
    expect(JSON.parse(done.stdout)).to.include({ created: 0, updated: 1, failed: 3, unknown: 0 })
    expect(readFileSync(join(sandbox.home, 'results.csv'), 'utf8')).to.contain(
      'u1,failed,"the user was created, but the response with status 200 shows that name did not',
    )
    expect(server.requests.some(({ path }) => path === '/v1/users/u1/permissions')).to.equal(false)
    const again = await run('users', 'import', 'users.csv', '--yes', '--json')
    expect(JSON.parse(again.stdout)).to.include({ created: 0, failed: 3 })
    expect(server.requests.filter(({ path }) => path === '/v1/users')).to.have.length(1)
    const failedRows = readFileSync(join(sandbox.home, 'users.failed.csv'), 'utf8')
    expect(failedRows).to.match(/^u1,ada@example.com,Ada,admin$/m)
  })
})
