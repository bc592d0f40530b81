import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse as parseYaml } from 'yaml'
import { describeBulk, drawBar } from '../../../src/cli/output/progress.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { packageFile } from '../../scripts/package-file.ts'
import { someCells } from '../../support/cells.ts'
import { type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { type HostOptions, type RunOptions, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  deadUrl,
  empty,
  failing,
  json,
  type Script,
  sse,
  startScriptedServer,
  stream,
} from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** The rules of docs/reference/output.md. */

const user = {
  id: 'u1',
  email: 'ada@example.com',
  name: 'Ada\tL\\\n"x", y',
  created_at: '2026-01-02T03:04:05Z',
  metadata: { company: 'Acme', seats: 5 },
  settings: { theme: 'dark', notifications_enabled: true },
  x_extra: [1, null],
}
const models = {
  data: [
    { id: 'small', created: 1, object: 'model', owned_by: 'us', x: 1 },
    { id: 'large', created: 2, object: 'model', owned_by: null },
  ],
  x_extra: 1,
}
const settings = {
  x_first: 1,
  limits: { max_requests_per_min: 60, max_tokens: 4096 },
  app_name: 'Chat',
  theme: { mode: 'dark', primary_color: '#112233', x_more: 'y' },
}

describe('output', function () {
  this.timeout(60_000)
  const { sandbox, server, run } = serveRuns()

  /** The stdout of a run that succeeds without messages. */
  async function printed(args: readonly string[], body: unknown, options: RunOptions = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await run(args, json(200, body), options)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  describe('in each output format', () => {
    it('is the unchanged body with json, including unknown fields', async () => {
      const shown = await printed(['users', 'get', 'u1', '-o', 'json'], user)
      expect(shown).to.equal(`${JSON.stringify(user, null, 2)}\n`)
      expect(JSON.parse(await printed(['chat', 'models', '--json'], models))).to.deep.equal(models)
    })

    it('is the same data with yaml', async () =>
      expect(parseYaml(await printed(['users', 'get', 'u1', '-o', 'yaml'], user))).to.deep.equal(user))

    it('is one line per row with jsonl', async () => {
      const lines = models.data.map((row) => `${JSON.stringify(row)}\n`).join('')
      expect(await printed(['chat', 'models', '-o', 'jsonl'], models)).to.equal(lines)
    })

    it('has a header and quoted cells with csv', async () =>
      expect(await printed(['users', 'get', 'u1', '-o', 'csv', '--fields', 'name,id'], user)).to.equal(
        'name,id\n"Ada\tL\\\n""x"", y",u1\n',
      ))

    it('has escapes and no header with tsv', async () => {
      const values = ['u1', 'ada@example.com', 'Ada\\tL\\\\\\n"x", y', '2026-01-02T03:04:05Z']
      const nested = [user.metadata, user.settings].map((value) => JSON.stringify(value))
      expect(await printed(['users', 'get', 'u1'], user)).to.equal(userRow(...values, ...nested))
    })

    it('has a header and aligned columns with table', async () =>
      expect(await printed(['chat', 'models', '-o', 'table'], models)).to.equal(
        'ID     OWNED_BY  CREATED\nsmall  us        1970-01-01 00:00\nlarge            1970-01-01 00:00\n',
      ))

    it('has a notice on stderr for an empty table, unless --quiet is set', async () => {
      const asked = ['chat', 'models', '-o', 'table']
      const empty = { exitCode: 0, stdout: '', stderr: 'No models.\n' }
      expect(await run(asked, json(200, { data: [] }))).to.deep.include(empty)
      expect((await run([...asked, '-q'], json(200, { data: [] }))).stderr).to.equal('')
      expect((await run(['chat', 'models'], json(200, { data: [] }))).stderr).to.equal('')
    })

    it('omits the details of an error if the message contains them', async () => {
      const details = { faults: [{ path: 'email', message: 'is required' }] }
      const refused = (message: string) =>
        run(['chat', 'models'], json(400, { error: { code: 'bad', message, details } }))
      expect((await refused('email is required')).stderr).not.to.contain('Details:')
      expect((await refused('Look')).stderr).to.contain(`Details: ${JSON.stringify(details)}`)
    })

    it('colors a table in a pipe only with FORCE_COLOR, and never with NO_COLOR or --no-color', async () => {
      const args = ['chat', 'models', '-o', 'table']
      const show = async (env: NodeJS.ProcessEnv, ...flags: string[]) =>
        (await run([...args, ...flags], json(200, models), { env })).stdout
      expect(await show({})).not.to.contain('\u001b')
      expect(await show({ FORCE_COLOR: '1' })).to.contain('\u001b[1m')
      expect(await show({ FORCE_COLOR: '1', NO_COLOR: '1' })).not.to.contain('\u001b')
      expect(await show({ FORCE_COLOR: '1' }, '--no-color')).not.to.contain('\u001b')
    })
  })

  describe('TSV columns', () => {
    const columns: Record<string, string> = {
      'chat:models': 'small\tus\t1767323045',
      'history:list': 'm1\t2026-01-02T03:04:05Z\tuser\tHello',
      'users:get':
        'u1\tada@example.com\tAda\t2026-01-02T03:04:05Z\t{"company":"Acme"}\t{"theme":"dark","notifications_enabled":true}',
      'users:permissions:assign': 'u1\teditor\t["read:chat"]',
      'chat:send': 'm1\tc1\t2026-01-02T03:04:05Z\tHello yourself',
      'chat:complete': 'cmpl1\tsmall\t1767323045\tstop\tHi',
      'settings:get':
        'app_name\tChat\ntheme.primary_color\t#112233\ntheme.mode\tdark\nfeatures.chat\ttrue\nfeatures.file_upload\tfalse\nfeatures.code_completion\ttrue\nlimits.max_tokens\t4096\nlimits.max_requests_per_min\t60\nx_extra\t1',
      'users:settings:set': 'success\ttrue\nsettings.theme\tdark\nx_extra\t1',
    }
    for (const [name, lines] of Object.entries(columns))
      it(`are fixed for ${name}`, async () => {
        const { args, answer: body } = findCall(name)
        const fix = `The order of the columns is a promise to scripts. If a column was added at the end, add its value to \`columns['${name}']\` in test/cli/output/output.test.ts`
        expect(await printed([...args, '-o', 'tsv'], body), fix).to.equal(`${lines}\n`)
      })
  })

  describe('--fields', () => {
    it('selects fields in the given order, including nested fields', async () => {
      const fields = ['--fields', 'metadata.seats,id,settings.theme']
      expect(await printed(['users', 'get', 'u1', ...fields], user)).to.equal('5\tu1\tdark\n')
      expect(JSON.parse(await printed(['users', 'get', 'u1', '--json', ...fields], user))).to.deep.equal({
        metadata: { seats: 5 },
        id: 'u1',
        settings: { theme: 'dark' },
      })
      const shown = await printed(['users', 'get', 'u1', '-o', 'csv', ...fields], user)
      expect(shown).to.equal('metadata.seats,id,settings.theme\n5,u1,dark\n')
    })

    it('finds fields that only the service knows', async () => {
      expect(await printed(['users', 'get', 'u1', '--fields', 'x_extra'], user)).to.equal('[1,null]\n')
      const shown = await printed(['api', 'GET', '/v1/x', '--fields', 'x_extra', '--json'], user)
      expect(shown).to.equal(`${JSON.stringify({ x_extra: [1, null] }, null, 2)}\n`)
    })

    it('rejects an unknown field before anything is sent, and suggests the right one', async () => {
      const args = ['users', 'update', 'u1', '--name', 'x', '--fields', 'nmae']
      expectFailure(await run(args, json(200, user)), 2, 'Did you mean name?')
      expect(server.requests).to.deep.equal([])
    })
  })

  describe('--jq', () => {
    it('prints strings raw and other values as JSON', async () => {
      expect(await printed(['chat', 'models', '--jq', '.data[].id'], models)).to.equal('small\nlarge\n')
      expect(await printed(['users', 'get', 'u1', '--jq', '.metadata.seats'], user)).to.equal('5\n')
      expect(await printed(['users', 'get', 'u1', '--jq', '.name'], user)).to.equal(`${user.name}\n`)
      const shown = JSON.parse(await printed(['users', 'get', 'u1', '--jq', '.settings'], user))
      expect(shown).to.deep.equal(user.settings)
    })

    it('filters each row of jsonl', async () =>
      expect(await printed(['chat', 'models', '-o', 'jsonl', '--jq', '.id'], models)).to.equal(
        'small\nlarge\n',
      ))

    it('keeps the white space of a string', async () => {
      const filter = '"  x\\n", "", ["y"]'
      expect(await printed(['users', 'get', 'u1', '--jq', filter], user)).to.equal('  x\n\n\n[\n  "y"\n]\n')
    })

    it('rejects an invalid filter before anything is sent', async () => {
      const { exitCode } = await run(['users', 'update', 'u1', '--name', 'x', '--jq', '.['], json(200, user))
      expect(exitCode).to.equal(2)
      expect(server.requests).to.deep.equal([])
    })
  })

  describe('for a response without a body', () => {
    it('contains the user ID from the Location header', async () => {
      const { args, stdin = '' } = findCall('users:create')
      const created = answer(201, { location: '/v1/users/a%20b' })
      expect(await run([...args, '--json'], created, { stdin })).to.deep.include({
        exitCode: 0,
        stdout: '{\n  "id": "a b"\n}\n',
        stderr: '{"notice":{"message":"Created user a b. The service did not return the user."}}\n',
      })
      expect((await run(args, created, { stdin })).stdout).to.equal(userRow('a b', 'ada@example.com'))
      expect((await run([...args, '--jq', '.id'], created, { stdin })).stdout).to.equal('a b\n')
    })

    it('warns that the ID is unknown without a Location header', async () => {
      const { args, stdin = '' } = findCall('users:create')
      const { stderr } = expectSuccess(await run(args, empty, { stdin }))
      expect(stderr).to.equal(
        'Created a user. The service did not return the user, so the values that were sent are shown.\nWarning: The ID of the new user is unknown, because the response has none in "id" or in the Location header\n',
      )
    })
  })

  const create = '--email a@example.com --allow-duplicates'

  describe('for a change whose response has no data', () => {
    const responses: [string, Behavior][] = [
      ['204', empty],
      ['{}', json(200, {})],
      ['null', json(200, null)],
      ['a list', json(200, [1])],
      ['a text without a content type', answer(200, {}, 'OK')],
      ['an unrelated object', json(200, { ok: true })],
    ]
    const changes: [line: string, id: string | undefined, row: string, done: string][] = [
      ['users update u1 --name Ada', 'u1', userRow('u1', '', 'Ada'), 'Updated user u1.'],
      [
        'users permissions assign u1 read:chat --role editor',
        'u1',
        'u1\teditor\t["read:chat"]\n',
        'Updated the permissions of user u1.',
      ],
      [`users create ${create} --password-stdin`, undefined, userRow('', 'a@example.com'), 'Created a user.'],
      ['users settings set --theme dark', undefined, 'settings.theme\tdark\n', 'Updated your preferences.'],
      ['settings api set --version 2', undefined, 'version\t2\n', 'Set the API configuration.'],
    ]
    for (const [index, [what, behavior]] of responses.entries())
      it(`shows the values that were sent in columns, and the body as JSON: ${what}`, async () => {
        for (const [line, id, row, done] of someCells(changes, (_, row) => row === 0 || index === 0)) {
          const args = line.split(' ')
          const isRelated = what === 'an unrelated object'
          const known = { ...(id === undefined ? {} : { id }), ...(isRelated ? { ok: true } : {}) }
          const inPipe = await run(args, behavior, { stdin: 'correct horse' })
          expect(inPipe.exitCode, inPipe.stderr).to.equal(0)
          expect(inPipe.stderr).to.include(`${done} The service did not return`)
          expect(inPipe.stderr).to.include('so the values that were sent are shown.')
          expect(inPipe.stderr.includes('The response is {"ok":true}.')).to.equal(isRelated)
          expect(inPipe.stdout).to.equal(row)
          const inJson = await run([...args, '--json', '--quiet'], behavior, { stdin: 'correct horse' })
          const parsed = { ...inJson, stdout: JSON.parse(inJson.stdout) }
          expect(parsed).to.deep.include({ exitCode: 0, stdout: known, stderr: '' })
          const table = await run([...args, '-o', 'table'], behavior, { stdin: 'correct horse' })
          for (const cell of row.match(/[\w.@:]+/g) ?? []) expect(table.stdout).to.include(cell)
          expect(table.stdout + table.stderr).not.to.include('correct horse')
        }
      })
  })

  it('completes a response that lacks some of the values that were sent, and names them', async () => {
    const args = `users create ${create} --name Ada --no-password`.split(' ')
    const partial = json(201, { id: 'u1', email: 'A@example.com', name: null, role: 'member' })
    expect(await run(args, partial)).to.deep.include({
      exitCode: 0,
      stdout: userRow('u1', 'A@example.com', 'Ada'),
      stderr: 'Created user u1. The service did not return name, so the values that were sent are shown.\n',
    })
    const structured = await run([...args, '--json'], partial)
    expect(structured.stderr).to.equal('')
    expect(JSON.parse(structured.stdout)).to.include({ email: 'A@example.com', name: null })
  })

  describe('as plain text', () => {
    const values: [string, string][] = [
      ['theme.mode', 'dark\n'],
      ['limits.max_tokens', '4096\n'],
      ['theme', `${JSON.stringify(settings.theme)}\n`],
      ['x_first', '1\n'],
    ]
    for (const [setting, text] of values)
      it(`is the bare value for settings get ${setting}`, async () => {
        expect(await printed(['settings', 'get', setting], settings)).to.equal(text)
        const shown = JSON.parse(await printed(['settings', 'get', setting, '--json'], settings))
        expect(shown).to.deep.equal(JSON.parse(setting === 'theme.mode' ? '"dark"' : text))
      })

    for (const [response, text] of [
      ['Hello', 'Hello\n'],
      ['a\n\nb', 'a\n\nb\n'],
      ['with a newline\n', 'with a newline\n'],
      ['\u001b[31mred', '\u001b[31mred\n'],
    ] as const)
      it(`ends with exactly one newline for the reply ${JSON.stringify(response)}`, async () => {
        const body = { id: 'm1', response, context_id: 'c1', created_at: '2026-01-02T03:04:05Z' }
        expect(await printed(['chat', 'send', 'x'], body)).to.equal(text)
        const streamed = await run(['chat', 'send', 'x', '--stream'], sse([{ delta: response }]))
        expect(streamed.stdout).to.equal(text)
      })

    it('is one array for several users, in the order of the arguments', async () => {
      const each: Behavior = (request, response, incoming) =>
        json(200, { ...user, id: request.path.split('/').at(-1) })(request, response, incoming)
      const one = await run(['users', 'get', 'b', '-', 'a', '--jq', '.[].id'], each, { stdin: 'c\nd\n' })
      expect(one.stdout).to.equal('b\nc\nd\na\n')
    })
  })

  describe('when it ends early', () => {
    it('counts as success if the reader closes the pipe', async () => {
      const many = { data: Array.from({ length: 50_000 }, (_, index) => ({ id: `model-${index}` })) }
      await server.serve(json(200, many))
      const running = startChatctl(sandbox, ['chat', 'models'], { service: server })
      running.stdin.end()
      running.stdout.once('data', () => running.stdout.destroy())
      expect(await running.ended).to.include({ exitCode: 0, stderr: '' })
    })

    for (const ending of ['reset', 'unfinished'] as const)
      it(`keeps the text of an interrupted stream and exits 69 (${ending})`, async () => {
        const cut = sse([{ delta: 'Half of ' }, { delta: 'it' }], { ending, done: false })
        const plain = await run(['chat', 'send', 'x', '--stream'], cut)
        expect(plain).to.include({ exitCode: 69, stdout: 'Half of it\n' })
        expect(plain.stderr).to.match(/^Error: \S/)

        const structured = await run(['chat', 'send', 'x', '--stream', '--json'], cut)
        expect(structured.exitCode).to.equal(69)
        const last = JSON.parse(structured.stdout.trim().split('\n').at(-1) ?? '')
        expect(last).to.include({ v: 1, type: 'end', complete: false, response: 'Half of it' })
        expect(JSON.parse(structured.stderr).error.code).to.equal('truncated')
      })

    it('is empty for an interrupted body, and the exit code is 69', async () => {
      const half = stream(['{"id":"u1",'], { type: 'application/json', ending: 'reset' })
      expect(await run(['users', 'profile', '--retries', '0'], half)).to.include({ exitCode: 69, stdout: '' })
    })
  })
})

/** The row of a user in TSV, with empty cells for the columns after those given. */
function userRow(...cells: string[]): string {
  const { view } = commands.find(({ id }) => id === 'users:get') ?? {}
  return `${Array.from(view?.columns ?? [], (_, index) => cells[index] ?? '').join('\t')}\n`
}

function findCall(name: string): ServiceCall {
  const call = serviceCalls.find((one) => one.name === name)
  if (!call) throw new Error(`there is no call ${name}`)
  return call
}

type BulkState = Parameters<typeof describeBulk>[0]

describe('the progress of a bulk command', () => {
  const state: BulkState = {
    noun: 'user',
    total: 20_000,
    counts: { done: 5000, failed: 0, unknown: 0 },
    perSecond: 123.4,
    left: 122_000,
    pause: undefined,
  }
  const countsOf = (done: number, failed = 0, unknown = 0) => ({ counts: { done, failed, unknown } })
  const hasNoTotal = { total: undefined, left: undefined }
  const texts: Record<string, Partial<BulkState>> = {
    '5,000 of 20,000 users done, 123/s, 3m left': {},
    '5,000 of 20,000 users done, 4,990 failed, 10 unknown, 123/s, 3m left': countsOf(5000, 4990, 10),
    '5,000 of 20,000 users done, 123/s, 1s left': { left: 20 },
    '5,000 users done, 123/s': hasNoTotal,
    '1 user done, 0.3/s': { ...hasNoTotal, perSecond: 0.25, ...countsOf(1) },
    'quota used up, paused for 1h 5m, 5,000 of 20,000 users done': {
      pause: { ms: 65 * 60_000, why: 'quota' },
    },
    'rate limited, paused for 30s, 5,000 of 20,000 users done': { pause: { ms: 30_000, why: 'limited' } },
    '0 of 20,000 users done': { ...countsOf(0), perSecond: 0, left: undefined },
  }
  for (const [text, part] of Object.entries(texts))
    it(`is shown as "${text}"`, () => expect(describeBulk({ ...state, ...part })).to.equal(text))

  it('has a bar with the percentage in a terminal', () => {
    expect(drawBar(0.25)).to.equal('█████░░░░░░░░░░░░░░░ 25%')
    expect(drawBar(1.2)).to.equal('████████████████████ 100%')
  })
})

/** Numbers that a double cannot represent, or that JavaScript would write differently. */
const numbers = '9007199254740993 1234567890123456789 1.0 0.10 -0 1e400 12345678901234567890.10'.split(' ')
const metadata = `{"n":${numbers[0]},"list":[${numbers.join()}]}`
const exactUser = `{"id":"u1","email":"ada@example.com","name":"Ada","created_at":"2026-01-02T03:04:05Z","x":2.50,"metadata":${metadata}}`

describe('numbers beyond double precision', function () {
  this.timeout(60_000)
  const served = serveRuns()
  const { run, file } = served
  const body = (text: string) => answer(200, { 'content-type': 'application/json' }, text)

  async function printed(args: readonly string[], text: string, options: RunOptions = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await run(args, body(text), options)
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  const sent = (): (string | undefined)[] =>
    served.server.requests.filter(({ method }) => method !== 'GET').map((request) => request.body)

  for (const [form, expected] of [
    ['jsonl', `${exactUser}\n`],
    ['csv', `"{""n"":${numbers[0]},""list"":[${numbers.join()}]}"`],
    ['tsv', `\t${metadata}\t`],
    ['table', `metadata.n     ${numbers[0]}`],
    [
      'yaml',
      `  "n": ${numbers[0]}\n  list:\n${numbers.map((number) => `    - ${number.replace('1e', '1.0e+')}\n`).join('')}`,
    ],
  ] as const)
    it(`keep their digits with -o ${form}`, async () =>
      expect(await printed(['users', 'get', 'u1', '-o', form], exactUser)).to.include(expected))

  it('keep their digits with --json, --fields, and --jq', async () => {
    const compact = (text: string) => text.replace(/\s+/g, '')
    expect(compact(await printed(['users', 'get', 'u1', '--json'], exactUser))).to.equal(exactUser)
    const fields = ['users', 'get', 'u1', '--json', '--fields', 'metadata.n']
    expect(compact(await printed(fields, exactUser))).to.equal(`{"metadata":{"n":${numbers[0]}}}`)
    const filtered = await printed(['users', 'get', 'u1', '--jq', '.metadata.list[]'], exactUser)
    expect(filtered.split('\n').slice(0, 5)).to.deep.equal(numbers.slice(0, 5))
    expect(compact(await printed(['api', '/v1/users/u1'], exactUser))).to.equal(exactUser)
  })

  it('are shown as a time in a time field', async () => {
    const models = '{"data":[{"id":"small","created":1767323045.0,"object":"model","owned_by":"us"}]}'
    const text = await printed(['chat', 'models', '-o', 'table'], models, { env: { TZ: 'UTC' } })
    expect(text).to.include('2026-01-02 03:04')
  })

  it('keep their digits in the usage of a completion', async () => {
    const usage = '{"prompt_tokens":9007199254740993,"completion_tokens":2.0,"total_tokens":3}'
    const reply = `{"id":"c1","created":1.0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":${usage}}`
    const text = await printed(['chat', 'complete', 'hello', '--json', '--fields', 'usage'], reply)
    expect(text.replace(/\s+/g, '')).to.equal(`{"usage":${usage}}`)
  })

  it('keep their digits in the usage of a stream', async () => {
    const usage = '{"prompt_tokens":9007199254740993,"completion_tokens":2.0}'
    for (const [type, text] of [
      ['text/event-stream', `data: {"delta":"hi"}\n\ndata: {"usage":${usage}}\n\ndata: [DONE]\n\n`],
      ['application/x-ndjson', `{"delta":"hi"}\n{"usage":${usage},"done":true}\n`],
    ] as const) {
      const reply = answer(200, { 'content-type': type }, text)
      const { stdout } = expectSuccess(await run(['chat', 'send', 'hello', '--stream', '--json'], reply))
      expect(stdout).to.include(`"usage":${usage}`)
    }
  })

  it('are sent as they were typed', async () => {
    const args = 'users update u1 --metadata n:=9007199254740993 --metadata list:=[1.0,1E5]'.split(' ')
    expectSuccess(await run(args, body('{"metadata":{"n":9007199254740993}}')))
    expect(sent()).to.deep.equal(['{"metadata":{"n":9007199254740993,"list":[1.0,1E5]}}'])
    await run(['api', 'POST', '/v1/x', '--field', 'n:=9007199254740993'], body('{}'))
    expect(sent()).to.deep.equal(['{"n":9007199254740993}'])
    const held = await run([...args, '--dry-run', '--json'], body('{}'))
    expect(held.stdout).to.include('9007199254740993').and.to.include('1E5')
    const raw = ['api', 'POST', '/v1/x', '--data', '{"n":9007199254740993}', '--dry-run', '--json']
    expect((await run(raw, body('{}'))).stdout).to.include('9007199254740993')
  })

  describe('in settings', () => {
    const settings = (tokens: string) =>
      body(`{"limits":{"max_tokens":${tokens},"max_requests_per_min":60.0},"x":1.0}`)
    const [earlier, later] = ['9007199254740992', '9007199254740993']
    /** A service that has the earlier number until it is changed. */
    const changing = (): Script => {
      let stored = earlier
      return {
        choose: ({ method }) => {
          if (method === 'PATCH') stored = later
          return settings(stored)
        },
      }
    }

    for (const [name, text] of [
      ['s.yaml', 'limits:\n  max_tokens: 9007199254740993\n'],
      ['s.json', '{"limits":{"max_tokens":9007199254740993}}'],
    ] as const)
      it(`are compared and sent exactly, from ${name}`, async () => {
        const path = file(name, text)
        const before = await run(['settings', 'diff', path, '--json'], settings(earlier))
        expect(before.stdout.replace(/\s+/g, '')).to.equal(
          `{"changes":[{"path":"limits.max_tokens","from":${earlier},"to":${later}}]}`,
        )
        expectSuccess(await run(['settings', 'apply', path, '--yes'], changing()))
        expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
      })

    it('are equal in different notations: 60.0 is 60', async () => {
      const path = file('same.yaml', 'limits:\n  max_requests_per_min: 60\n')
      const { stdout } = await run(['settings', 'diff', path, '--json'], settings('1'))
      expect(JSON.parse(stdout)).to.deep.equal({ changes: [] })
    })

    it('keep their digits in a saved plan', async () => {
      const path = file('plan.yaml', 'limits:\n  max_tokens: 9007199254740993\n')
      const plan = join(served.sandbox.home, 'the.plan')
      await run(['settings', 'diff', path, '--save', plan], changing())
      expect(readFileSync(plan, 'utf8')).to.include(earlier).and.to.include(later)
      const args = ['settings', 'apply', plan, '--yes']
      expectSuccess(await runChatctl(served.sandbox, args, { service: served.server }))
      expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
    })

    it('keep their digits in settings set and settings export', async () => {
      const exported = await run(['settings', 'export'], settings(later))
      expect(exported.stdout).to.include(`max_tokens: ${later}`).and.to.include('per_min: 60.0')
      expectSuccess(await run(['settings', 'set', `limits.max_tokens=+0${later}`], settings(later)))
      expect(sent()).to.deep.equal(['{"limits":{"max_tokens":9007199254740993}}'])
    })

    it('are rejected if the setting must be an integer and they are not', async () => {
      for (const number of ['1.5', '9007199254740993.5', '1e-400', '1.00000000000000000001']) {
        const path = file('none.json', `{"limits":{"max_tokens":${number}}}`)
        const refused = await run(['settings', 'apply', path, '--yes'], settings('1'))
        expectFailure(refused, 2, 'limits.max_tokens must be an integer')
        expect(served.server.requests).to.deep.equal([])
      }
    })
  })

  for (const form of ['jsonl', 'json', 'md'])
    it(`keep their digits in an exported history: ${form}`, async () => {
      const message = `{"id":9007199254740993,"role":"user","content":{"n":1.0},"created_at":1767323045.0,"x":1234567890123456789}`
      const path = join(served.sandbox.home, `history.${form}`)
      const page = body(`{"messages":[${message}],"has_more":false}`)
      expectSuccess(await run(['history', 'export', '--to', path], page))
      const text = readFileSync(path, 'utf8')
      expect(text).to.include(form === 'md' ? '"n": 1.0' : message)
      if (form === 'md') expect(text).to.include('2026-01-02 03:04:05')
    })

  it('keep their digits as the cursor of the next page', async () => {
    const page = (id: string, more: boolean) => {
      const message = `{"id":${id},"role":"user","content":"x","created_at":"2026-01-02T03:04:05Z"}`
      return body(`{"messages":[${message}],"has_more":${more}}`)
    }
    const choose = ({ path }: { path: string }) =>
      path.includes('before=') ? page('9007199254740991', false) : page('9007199254740993', true)
    expectSuccess(await run(['history', 'export'], { choose }))
    const cursors = served.server.requests.map(({ path }) =>
      new URL(path, 'http://x').searchParams.get('before'),
    )
    expect(cursors).to.include('9007199254740993')
  })

  it('keep their digits as the ID of a new user', async () => {
    const args = 'users create --email a@example.com --no-password --fields id'.split(' ')
    expect((await run(args, body('{"id":9007199254740993}'))).stdout).to.equal('9007199254740993\n')
  })

  it('keep their digits in the details and the code of an error', async () => {
    const error = '{"error":{"code":9007199254740993,"message":"no","details":{"n":1234567890123456789}}}'
    const refusal = answer(400, { 'content-type': 'application/json' }, error)
    expect((await run(['users', 'get', 'u1', '--json'], refusal)).stderr)
      .to.include('"code":"9007199254740993"')
      .and.to.include('"details":{"n":1234567890123456789}')
  })
})

describe('--debug', () => {
  const sandbox = perSuite(() => createSandbox({ ownCache: true }))
  const server = perTest(startScriptedServer)

  async function run(args: readonly string[], script: Script, options: HostOptions = {}) {
    const service = { CHATCTL_BASE_URL: await server.serve(script), CHATCTL_API_KEY: 'k' }
    const env = { ...service, CHATCTL_RETRIES: '0', ...options.env }
    return runChatctl(sandbox, args, { ...options, env })
  }

  it('shows each request and response on stderr', async () => {
    const { stderr } = await run(['api', 'POST', '/v1/x', '-F', 'a=1', '--debug'], json(201, { b: 2 }))
    const lines = stderr.split('\n')
    expect(lines[0]).to.equal(`> POST ${server.url}/v1/x`)
    expect(lines).to.include('> content-type: application/json').and.include('> authorization: [redacted]')
    expect(stderr).to.match(/\n>\n> \{"a":"1"\}\n< 201 Created in \d+ms\n(< .+\n)+<\n< \{"b":2\}\n$/)
  })

  for (const call of serviceCalls)
    it(`does not change the stdout and the exit code of ${call.name}`, async () => {
      const { args, stdin = '' } = call
      // A port and a generated password are other ones in each run.
      const plain = (text: string) => text.replace(/[\w.-]{24}\n|127\.0\.0\.1:\d+/g, '')
      const [without, traced] = [
        await run(args, json(200, call.answer), { stdin }),
        await run([...args, '--debug'], json(200, call.answer), { stdin }),
      ]
      expect(traced.exitCode).to.equal(without.exitCode)
      if (args[0] !== 'doctor') expect(plain(traced.stdout)).to.equal(plain(without.stdout))
      expect(traced.stderr).to.match(/^> /m).and.match(/^< /m)
    })

  it('shows a stream when it has ended', async () => {
    const script = sse([{ delta: 'a' }, { delta: 'b' }])
    const { stdout, stderr } = await run(['chat', 'send', 'Hi', '--debug'], script)
    expect(stdout).to.equal('ab\n')
    const ending =
      /\n< \[stream (complete|closed) after 56 bytes in \d parts?\]\n<\n< data: \{"delta":"a"\}\n/
    expect(stderr).to.match(ending)
  })

  it('names the causes of a failure, without a stack', async () => {
    const env = { CHATCTL_BASE_URL: await deadUrl() }
    const { stderr } = await run(['users', 'profile', '--debug'], json(200, {}), { env })
    expect(stderr).to.match(/\nCaused by: connect ECONNREFUSED 127\.0\.0\.1:\d+\n$/)
    const refused = await run(['users', 'profile', '--debug'], failing(403, 'no', 'No'))
    expect(refused.stderr).to.match(/\nError: No \(403, .*\n(Hint: .*\n)?$/)
    for (const text of [stderr, refused.stderr]) expect(text).not.to.match(/^ +at /m)
  })

  it('shows the stack of a bug, without the functions of Node', async () => {
    const bug = new Error('boom')
    const calls = [
      '    at #deliver (file:///opt/chatctl/dist/main.cjs:174:18918)',
      '    at async Client.send (/opt/chatctl/dist/main.cjs:1:15924)',
      '    at run (file:///home/me/chatctl/src/boot/run.ts:10:3)',
    ]
    const ofNode = '    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)'
    bug.stack = ['Error: boom', ...calls.toSpliced(2, 0, ofNode)].join('\n')
    const now = () => {
      throw bug
    }
    const clock = { ...systemClock, now }
    const broken = (...flags: string[]) =>
      run(['users', 'profile', ...flags], json(200, {}), { host: { clock } })
    const { stderr, exitCode } = await broken('--debug')
    expect(exitCode).to.equal(1)
    const words = `Error: This is a bug in chatctl: boom\nHint:  Report this output at ${packageFile.bugs.url}`
    expect(stderr.slice(stderr.indexOf('Error: '))).to.equal([words, ...calls, ''].join('\n'))
    expect((await broken()).stderr)
      .to.contain(`with --debug, and report the output at ${packageFile.bugs.url}`)
      .and.not.contain('    at ')
  })
})
