import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { localCalls, type ServiceCall, serviceCalls } from '../support/command-lines.ts'
import { expectSuccess } from '../support/expect-failure.ts'
import { createJobPool } from '../support/job-pool.ts'
import { perSuite } from '../support/lifetime.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  answer,
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  redirect,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts'

/** Canary secrets: the tests search all output and all files of chatctl for them. */

const key = 'canary-API-key+with/odd=signs'
const password = 'canary "password" with \\ and ü'

/** The encodings in which a secret can appear: plain, in a URL, and in JSON. */
function formsOf(secret: string): string[] {
  return [...new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])]
}

/** A behavior that depends on the request. */
const behaving =
  (choose: (request: RecordedRequest) => Behavior): Behavior =>
  (request, ...rest) =>
    choose(request)(request, ...rest)

const whole = ({ headers, body }: RecordedRequest): string => `${headers.authorization} ${body}`

/** Services that echo the request in every part of a response. */
const echoes: Record<string, Behavior> = {
  'an error body and headers': behaving(({ headers, body }) => {
    const { authorization = '' } = headers
    const details = { headers, body, parsed: body === '' ? null : JSON.parse(body) }
    const error = { code: authorization, message: `Not good: ${authorization}, ${body}`, details }
    const said = { 'x-request-id': authorization, 'set-cookie': authorization, server: authorization }
    return json(401, { error }, said)
  }),
  'plain text': behaving((request) => answer(500, { 'content-type': 'text/plain' }, whole(request))),
  'a redirect elsewhere': behaving((request) =>
    redirect(307, `http://127.0.0.1:9/${encodeURIComponent(whole(request))}`),
  ),
  'a rate limit': behaving(({ headers }) =>
    limited({ 'retry-after': '99', 'x-request-id': headers.authorization ?? '' }),
  ),
  'success: false': behaving((request) =>
    json(200, { success: false, error: whole(request), message: whole(request) }),
  ),
}

describe('secret handling', function () {
  this.timeout(90_000)
  const sandbox = perSuite(() => createSandbox({ ownCache: true }))
  let keyFile: string
  let passwordFile: string
  const inTurn = createJobPool(4)
  const servers = new Map<Behavior, Promise<ScriptedServer>>()

  before(() => {
    keyFile = join(sandbox.home, 'key.secret')
    passwordFile = join(sandbox.home, 'password.secret')
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 })
    writeFileSync(passwordFile, `${password}\n`)
  })
  after(async () => {
    for (const server of servers.values()) await (await server).close()
  })

  async function run(
    args: readonly string[],
    behavior: Behavior,
    { stdin = '', env = {} as NodeJS.ProcessEnv } = {},
  ): Promise<Run> {
    const server = servers.get(behavior) ?? startScriptedServer(behavior)
    servers.set(behavior, server)
    const { url } = await server
    const variables = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key, ...env }
    return inTurn(() => runChatctl(sandbox, [...args, '--retries', '0'], { env: variables, stdin }))
  }

  function expectSilence({ stdout, stderr }: Run, secrets: string[] = [key, password]): void {
    for (const form of secrets.flatMap(formsOf)) {
      expect(stdout, 'stdout').not.to.contain(form)
      expect(stderr, 'stderr').not.to.contain(form)
    }
  }

  afterEach('nothing was written', () => {
    const files = globSync('**/*', { cwd: sandbox.home }).concat(globSync('.*/**/*', { cwd: sandbox.home }))
    for (const file of files) {
      const path = join(sandbox.home, file)
      if (file.endsWith('.secret') || !statSync(path).isFile()) continue
      const bytes = readFileSync(path)
      for (const form of [...formsOf(key), ...formsOf(password)])
        expect(bytes.includes(form), `${file} holds a secret`).to.equal(false)
    }
  })

  const forms = [['--debug'], ['--debug', '--json'], []]
  /** Each call, or a part of them, with one set of flags. Both differ from round to round. */
  const inForms = (calls: readonly ServiceCall[], round: number, parts = 1) =>
    calls
      .map((call, index) => ({ call, form: forms[(index + round) % forms.length] ?? [] }))
      .filter((_, index) => (index + round) % parts === 0)

  it('keeps secrets out of the output of a successful run', async () => {
    const all = inForms(serviceCalls, 0).map(({ call, form }) =>
      run([...call.args, ...form], json(200, call.answer), stdinOf(call)),
    )
    for (const one of await Promise.all(all)) expectSilence(expectSuccess(one))
  })

  it('keeps secrets in a response body out of --debug, whatever the body is', async () => {
    const secret = 'canary-of-the-service'
    const held = { api_key: secret, nested: [{ accessToken: secret, credentials: { value: [secret] } }] }
    const around: ((body: string) => Behavior)[] = [
      (body) => answer(200, { 'content-type': 'application/json' }, body),
      (body) => answer(404, { 'content-type': 'text/plain' }, `It is ${body}`),
      (body) => answer(500, { 'content-type': 'application/json' }, body.slice(0, -40)),
      (body) => answer(201, { location: `/x?token=${secret}`, 'set-cookie': `sid=${secret}` }, body),
    ]
    for (const [round, behave] of around.entries()) {
      const runs = await Promise.all(
        inForms(serviceCalls, round, around.length).map(({ call }) => {
          const body = JSON.stringify({ ...(call.answer as object), ...held })
          return run([...call.args, '--debug'], behave(body), stdinOf(call))
        }),
      )
      for (const one of runs) {
        expect(one.stderr).to.match(/^< .*\n< [\w-]+: /m)
        const traced = one.stderr.split('\n').filter((line) => /^[<>!*]/.test(line))
        expect(traced.filter((line) => line.includes(secret))).to.deep.equal([])
      }
    }
  })

  for (const [round, [where, echo]] of Object.entries(echoes).entries()) {
    // `api` prints every 2xx body as its result. For other commands this body is a failure.
    const calls =
      where === 'success: false' ? serviceCalls.filter(({ args }) => args[0] !== 'api') : serviceCalls
    it(`keeps secrets out of the output if the service echoes them in ${where}`, async () => {
      const runs = await Promise.all(
        inForms(calls, round, 2).map(({ call, form }) => run([...call.args, ...form], echo, stdinOf(call))),
      )
      for (const one of runs) {
        expect(one.exitCode, one.stdout).not.to.equal(0)
        expectSilence(one)
      }
    })
  }

  it('keeps secrets out of the output of commands that need no service', async () => {
    // Printing the token is the purpose of this command.
    const others = localCalls.filter(({ name }) => name !== 'auth:token')
    const runs = await Promise.all(others.map(({ args }) => run(args, json(200, {}))))
    for (const one of runs) expectSilence(one)
  })

  it('hides a key from a file, but auth status names the file', async () => {
    const env = { CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: keyFile }
    const [echo] = Object.values(echoes)
    if (!echo) throw new Error('there is no echo')
    expectSilence(await run(['users', 'profile', '--debug'], echo, { env }))
    const status = await run(['auth', 'status', '--no-verify'], echo, { env })
    expectSilence(status)
    expect(status.stdout).to.contain(`credential\tCHATCTL_API_KEY_FILE (${keyFile})`)
  })

  it('rejects a key that cannot be sent, without showing it', async () => {
    const odd = `${key}\u0007end`
    const env = { CHATCTL_API_KEY: odd }
    const refused = await run(['users', 'profile', '--debug'], json(200, {}), { env })
    expect(refused.exitCode).to.be.oneOf([2, 4])
    expectSilence(refused)
  })

  describe('with users create', () => {
    let sent: { password: string }[]
    beforeEach(() => {
      sent = []
    })
    const take = behaving(({ body }) => {
      sent.push(JSON.parse(body))
      return json(201, { id: 'u1' })
    })
    const create = (...flags: string[]) =>
      run(['users', 'create', ...flags], take, { stdin: `${password}\n` })

    for (const flag of ['--password-stdin', '--password-file'])
      it(`sends the password of ${flag} only to the service`, async () => {
        const file = flag === '--password-file' ? [passwordFile] : []
        const created = await create(flag, ...file, '--debug')
        expect(sent).to.deep.equal([{ password }])
        expectSilence(created)
      })

    it('prints a generated password once, on stdout, with the body', async () => {
      const structured = await create('--generate-password', '--debug', '--json')
      const plain = await create('--generate-password', '--debug')
      const [first = '', second = ''] = sent.map((user) => user.password)
      expect(JSON.parse(structured.stdout)).to.deep.equal({ id: 'u1', generated_password: first })
      expectSilence({ ...structured, stdout: '' }, [first])
      expect(plain.stdout.split(second)).to.have.lengthOf(2)
      expectSilence({ ...plain, stdout: '' }, [second])
      expect(first).not.to.equal(second)
    })

    it('prints a generated password to stderr if --fields or --jq omits it', async () => {
      for (const choice of [['--fields', 'id'], ...['.id', '.id | keys'].map((filter) => ['--jq', filter])]) {
        const { stdout, stderr } = await create('--generate-password', ...choice)
        expect(stdout).not.to.contain(sent.at(-1)?.password)
        expect(stderr).to.contain(sent.at(-1)?.password)
      }
    })
  })

  it('keeps passwords and keys out of the files, log, and output of the embedded service', async () => {
    const made = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'ci', '--jq', '.key'])
    const secret = made.stdout.trim()
    const create = 'service admin create canary@example.com --password-stdin --json --debug'.split(' ')
    const reset = ['service', 'users', 'reset', ...create.slice(3), '--yes']
    const runs = [
      await runChatctl(sandbox, create, { stdin: `${password}\n` }),
      await runChatctl(sandbox, reset, { stdin: `${password}\n` }),
      await runChatctl(sandbox, ['service', 'audit', '--json']),
      await runChatctl(sandbox, ['service', 'audit', '-o', 'table', '--fields', 'change,before,after']),
    ]
    for (const run of runs) expectSilence(expectSuccess(run), [password, secret])
    const files = globSync('.local/**/*', { cwd: sandbox.home }).map((file) => join(sandbox.home, file))
    for (const file of files.filter((path) => statSync(path).isFile())) {
      const text = readFileSync(file)
      for (const canary of [password, secret]) expect(text.includes(canary), file).to.equal(false)
    }
  })
})

/** Replaces a password by the canary. Other commands read no secret from stdin. */
function stdinOf({ name, stdin = '' }: ServiceCall): { stdin: string } {
  return { stdin: name === 'users:create' ? `${password}\n` : stdin }
}

const canary = 'canary-of-the-wrong-place'

describe('a secret in the wrong place', () => {
  const sandbox = perSuite(createSandbox)

  /** Runs the command in each form, and expects the exit code and no secret. */
  async function expectHidden(
    args: readonly string[],
    forms: readonly string[][],
    { exitCode = 2, env = {} as NodeJS.ProcessEnv, secrets = [canary] } = {},
  ): Promise<void> {
    for (const form of forms) {
      const run = await runChatctl(sandbox, [...args, ...form], { env })
      expect(run.exitCode, run.stderr).to.equal(exitCode)
      for (const secret of secrets) expect(run.stdout + run.stderr).not.to.contain(secret)
    }
  }

  for (const line of [
    ...['users profile --api-key=SECRET', 'users profile --api-key SECRET', '--api-key SECRET users profile'],
    ...[
      'auth login --with-api-key SECRET',
      'auth login --with-api-key=SECRET',
      '--api-key=SECRET users profile',
    ],
  ])
    it(`is not printed as the value of a flag that does not take it: ${line}`, () =>
      expectHidden(line.replace('SECRET', canary).split(' '), [[], ['--json'], ['--debug']]))

  for (const line of [
    'settings update api_key=SECRET',
    'settings update api_key SECRET',
    'settings update app_name=sk-SECRET',
    'settings set api_key SECRET',
    'settings set api_key:SECRET',
    'settings set app_nam sk-SECRET',
    'settings set app_nam=sk-SECRET',
    'settings set theme=sk-SECRET',
    'config add api_key=SECRET',
    'service run --model-server-key SECRET',
    'service run --model-server-key=SECRET',
    'auth eyJhbGciOiJIUzI1NiJ9.SECRET',
  ])
    it(`is not printed in a hint: ${line}`, () =>
      expectHidden(line.replace('SECRET', canary).split(' '), [[], ['--json']]))

  describe('in the URL of a proxy', () => {
    const proxy = perSuite(() =>
      startScriptedServer(({ headers }, _, { socket }) => {
        const said = headers['proxy-authorization'] ?? ''
        socket.end(`HTTP/1.1 407 ${said}\r\nx-said: ${said}\r\ncontent-length: 0\r\n\r\n`)
      }),
    )
    for (const [what, portOf] of [
      ['refuses', () => new URL(proxy.url).port],
      ['is not there', () => '1'],
    ] as const)
      it(`is not printed if the proxy ${what}`, async () => {
        const HTTPS_PROXY = `http://me:${canary}@127.0.0.1:${portOf()}`
        const env = { CHATCTL_BASE_URL: 'https://chat.example', CHATCTL_API_KEY: 'k', HTTPS_PROXY }
        const secrets = [Buffer.from(`me:${canary}`).toString('base64'), canary]
        const args = ['users', 'profile', '--retries', '0']
        await expectHidden(args, [['--debug'], ['--debug', '--json']], { exitCode: 69, env, secrets })
      })
  })
})
