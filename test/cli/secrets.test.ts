import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { localCalls, type ServiceCall, serviceCalls } from '../support/command-lines.ts'
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

/** Services that echo the request in every part of a response. */
const echoes: Record<string, Behavior> = {
  'an error body and headers': (request, response, incoming) => {
    const { authorization = '' } = request.headers
    const details = { headers: request.headers, body: request.body, parsed: parse(request.body) }
    return json(
      401,
      { error: { code: authorization, message: `Not good: ${authorization}, ${request.body}`, details } },
      { 'x-request-id': authorization, 'set-cookie': authorization, server: authorization },
    )(request, response, incoming)
  },
  'plain text': (request, response, incoming) =>
    answer(500, { 'content-type': 'text/plain' }, whole(request))(request, response, incoming),
  'a redirect elsewhere': (request, response, incoming) =>
    redirect(307, `http://127.0.0.1:9/${encodeURIComponent(whole(request))}`)(request, response, incoming),
  'a rate limit': (request, response, incoming) =>
    limited({ 'retry-after': '99', 'x-request-id': request.headers.authorization ?? '' })(
      request,
      response,
      incoming,
    ),
  'success: false': (request, response, incoming) =>
    json(200, { success: false, error: whole(request), message: whole(request) })(
      request,
      response,
      incoming,
    ),
}

function whole({ headers, body }: RecordedRequest): string {
  return `${headers.authorization} ${body}`
}

function parse(body: string): unknown {
  return body === '' ? null : JSON.parse(body)
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
    return inTurn(() =>
      runChatctl(sandbox, [...args, '--retries', '0'], {
        env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key, ...env },
        stdin,
      }),
    )
  }

  function expectSilence({ stdout, stderr }: Run, secrets: string[] = [key, password]): void {
    for (const secret of secrets) {
      for (const form of formsOf(secret)) {
        expect(stdout, 'stdout').not.to.contain(form)
        expect(stderr, 'stderr').not.to.contain(form)
      }
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
    const runs = await Promise.all(
      inForms(serviceCalls, 0).map(({ call, form }) =>
        run([...call.args, ...form], json(200, call.answer), stdinOf(call)),
      ),
    )
    for (const one of runs) {
      expect(one.exitCode, one.stderr).to.equal(0)
      expectSilence(one)
    }
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
    const refused = await run(['users', 'profile', '--debug'], json(200, {}), {
      env: { CHATCTL_API_KEY: odd },
    })
    expect(refused.exitCode).to.be.oneOf([2, 4])
    expectSilence(refused)
  })

  for (const [source, flag] of [
    ['stdin', () => ['--password-stdin']],
    ['a file', () => ['--password-file', passwordFile]],
  ] as const)
    it(`sends a password from ${source} only to the service`, async () => {
      let sent = ''
      const take: Behavior = (request, response, incoming) => {
        sent = request.body
        return json(201, { id: 'u1' })(request, response, incoming)
      }
      const created = await run(['users', 'create', ...flag(), '--debug'], take, { stdin: `${password}\n` })
      expect(JSON.parse(sent)).to.deep.equal({ password })
      expectSilence(created)
    })

  it('prints a generated password once, on stdout, with the body', async () => {
    const sent: string[] = []
    const take: Behavior = (request, response, incoming) => {
      sent.push(JSON.parse(request.body).password)
      return json(201, { id: 'u1' })(request, response, incoming)
    }
    const structured = await run(['users', 'create', '--generate-password', '--debug', '--json'], take)
    expect(JSON.parse(structured.stdout)).to.deep.equal({ id: 'u1', generated_password: sent[0] })
    expectSilence({ ...structured, stdout: '' }, [sent[0] ?? ''])
    const plain = await run(['users', 'create', '--generate-password', '--debug'], take)
    expect(plain.stdout.split(sent[1] ?? '')).to.have.lengthOf(2)
    expectSilence({ ...plain, stdout: '' }, [sent[1] ?? ''])
    expect(sent[0]).not.to.equal(sent[1])
  })

  it('prints a generated password to stderr if --fields or --jq omits it', async () => {
    for (const choice of [
      ['--fields', 'id'],
      ['--jq', '.id'],
      ['--jq', '.id | keys'],
    ]) {
      let made = ''
      const take: Behavior = (request, response, incoming) => {
        made = JSON.parse(request.body).password
        return json(201, { id: 'u1' })(request, response, incoming)
      }
      const { stdout, stderr } = await run(['users', 'create', '--generate-password', ...choice], take)
      expect(stdout).not.to.contain(made)
      expect(stderr).to.contain(made)
    }
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
    for (const run of runs) {
      expect(run.exitCode, run.stderr).to.equal(0)
      expectSilence(run, [password, secret])
    }
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

  for (const args of [
    ['users', 'profile', `--api-key=${canary}`],
    ['users', 'profile', '--api-key', canary],
    ['auth', 'login', '--with-api-key', canary],
    ['auth', 'login', `--with-api-key=${canary}`],
    [`--api-key=${canary}`, 'users', 'profile'],
    ['--api-key', canary, 'users', 'profile'],
  ])
    it(`is not printed as the value of a flag that does not take it: ${args.slice(0, 3).join(' ')}`, async () => {
      for (const form of [[], ['--json'], ['--debug']]) {
        const { exitCode, stdout, stderr } = await runChatctl(sandbox, [...args, ...form])
        expect(exitCode, stderr).to.equal(2)
        expect(stdout + stderr).not.to.contain(canary)
      }
    })

  for (const args of [
    ['settings', 'update', `api_key=${canary}`],
    ['settings', 'update', 'api_key', canary],
    ['settings', 'update', `app_name=sk-${canary}`],
    ['settings', 'set', 'api_key', canary],
    ['settings', 'set', `api_key:${canary}`],
    ['settings', 'set', 'app_nam', `sk-${canary}`],
    ['settings', 'set', `app_nam=sk-${canary}`],
    ['settings', 'set', `theme=sk-${canary}`],
    ['config', 'add', `api_key=${canary}`],
    ['service', 'run', '--model-server-key', canary],
    ['service', 'run', `--model-server-key=${canary}`],
    ['auth', `eyJhbGciOiJIUzI1NiJ9.${canary}`],
  ])
    it(`is not printed in a hint: ${args.join(' ').replace(canary, 'SECRET')}`, async () => {
      for (const form of [[], ['--json']]) {
        const { exitCode, stdout, stderr } = await runChatctl(sandbox, [...args, ...form])
        expect(exitCode, stderr).to.equal(2)
        expect(stdout + stderr).not.to.contain(canary)
      }
    })

  describe('in the URL of a proxy', () => {
    const proxy = perSuite(() =>
      startScriptedServer(({ headers }, _, { socket }) => {
        const said = headers['proxy-authorization'] ?? ''
        socket.end(`HTTP/1.1 407 ${said}\r\nx-said: ${said}\r\ncontent-length: 0\r\n\r\n`)
      }),
    )

    const forms = [Buffer.from(`me:${canary}`).toString('base64'), canary]
    for (const [what, portOf] of [
      ['refuses', () => new URL(proxy.url).port],
      ['is not there', () => '1'],
    ] as const)
      it(`is not printed if the proxy ${what}`, async () => {
        for (const form of [['--debug'], ['--debug', '--json']]) {
          const { exitCode, stdout, stderr } = await runChatctl(
            sandbox,
            ['users', 'profile', '--retries', '0', ...form],
            {
              env: {
                CHATCTL_BASE_URL: 'https://chat.example',
                CHATCTL_API_KEY: 'k',
                HTTPS_PROXY: `http://me:${canary}@127.0.0.1:${portOf()}`,
              },
            },
          )
          expect(exitCode, stderr).to.equal(69)
          for (const secret of forms) expect(stdout + stderr).not.to.contain(secret)
        }
      })
  })
})
