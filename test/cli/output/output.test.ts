import { expect } from 'chai'
import { parse as parseYaml } from 'yaml'
import { describeBulk, drawBar } from '../../../src/cli/output/progress.ts'
import { someCells } from '../../support/cells.ts'
import { type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { commands } from '../../support/manifest.ts'
import { type RunOptions, startChatctl } from '../../support/run-chatctl.ts'
import { answer, type Behavior, empty, json, sse, stream } from '../../support/scripted-server.ts'
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

    it('is one line per row with jsonl', async () =>
      expect(await printed(['chat', 'models', '-o', 'jsonl'], models)).to.equal(
        models.data.map((row) => `${JSON.stringify(row)}\n`).join(''),
      ))

    it('has a header and quoted cells with csv', async () =>
      expect(await printed(['users', 'get', 'u1', '-o', 'csv', '--fields', 'name,id'], user)).to.equal(
        'name,id\n"Ada\tL\\\n""x"", y",u1\n',
      ))

    it('has escapes and no header with tsv', async () =>
      expect(await printed(['users', 'get', 'u1'], user)).to.equal(
        userRow(
          'u1',
          'ada@example.com',
          'Ada\\tL\\\\\\n"x", y',
          '2026-01-02T03:04:05Z',
          JSON.stringify(user.metadata),
          JSON.stringify(user.settings),
        ),
      ))

    it('has a header and aligned columns with table', async () =>
      expect(await printed(['chat', 'models', '-o', 'table'], models)).to.equal(
        'ID     OWNED_BY  CREATED\nsmall  us        1970-01-01 00:00\nlarge            1970-01-01 00:00\n',
      ))

    it('has a notice on stderr for an empty table, unless --quiet is set', async () => {
      const asked = ['chat', 'models', '-o', 'table']
      expect(await run(asked, json(200, { data: [] }))).to.deep.include({
        exitCode: 0,
        stdout: '',
        stderr: 'No models.\n',
      })
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

    it('rejects an unknown field and suggests the right one', async () => {
      const { exitCode, stdout, stderr } = await run(
        ['users', 'get', 'u1', '--fields', 'nmae'],
        json(200, user),
      )
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).to.contain('Did you mean name?')
    })

    it('rejects an unknown field before anything is sent', async () => {
      const args = ['users', 'update', 'u1', '--name', 'x', '--fields', 'nmae']
      expect((await run(args, json(200, user))).exitCode).to.equal(2)
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
      const { exitCode, stderr } = await run(args, empty, { stdin })
      expect(exitCode).to.equal(0)
      expect(stderr).to.equal(
        'Created a user. The service did not return the user, so the values that were sent are shown.\nWarning: The ID of the new user is unknown, because the response has none in "id" or in the Location header\n',
      )
    })
  })

  describe('for a change whose response has no data', () => {
    const responses: [string, Behavior][] = [
      ['204', empty],
      ['{}', json(200, {})],
      ['null', json(200, null)],
      ['a list', json(200, [1])],
      ['a text without a content type', answer(200, {}, 'OK')],
      ['an unrelated object', json(200, { ok: true })],
    ]
    const changes: [args: string[], id: string | undefined, row: string, done: string][] = [
      [['users', 'update', 'u1', '--name', 'Ada'], 'u1', userRow('u1', '', 'Ada'), 'Updated user u1.'],
      [
        ['users', 'permissions', 'assign', 'u1', 'read:chat', '--role', 'editor'],
        'u1',
        'u1\teditor\t["read:chat"]\n',
        'Updated the permissions of user u1.',
      ],
      [
        ['users', 'create', '--email', 'a@example.com', '--password-stdin', '--allow-duplicates'],
        undefined,
        userRow('', 'a@example.com'),
        'Created a user.',
      ],
      [
        ['users', 'settings', 'set', '--theme', 'dark'],
        undefined,
        'settings.theme\tdark\n',
        'Updated your preferences.',
      ],
      [['settings', 'api', 'set', '--version', '2'], undefined, 'version\t2\n', 'Set the API configuration.'],
    ]
    for (const [index, [what, behavior]] of responses.entries())
      it(`shows the values that were sent in columns, and the body as JSON: ${what}`, async () => {
        for (const [args, id, row, done] of someCells(changes, (_, row) => row === 0 || index === 0)) {
          const isRelated = what === 'an unrelated object'
          const known = { ...(id === undefined ? {} : { id }), ...(isRelated ? { ok: true } : {}) }
          const inPipe = await run(args, behavior, { stdin: 'correct horse' })
          expect(inPipe.exitCode, inPipe.stderr).to.equal(0)
          expect(inPipe.stderr).to.include(`${done} The service did not return`)
          expect(inPipe.stderr).to.include('so the values that were sent are shown.')
          expect(inPipe.stderr.includes('The response is {"ok":true}.')).to.equal(isRelated)
          expect(inPipe.stdout).to.equal(row)
          const inJson = await run([...args, '--json', '--quiet'], behavior, { stdin: 'correct horse' })
          expect({ ...inJson, stdout: JSON.parse(inJson.stdout) }).to.deep.include({
            exitCode: 0,
            stdout: known,
            stderr: '',
          })
          const table = await run([...args, '-o', 'table'], behavior, { stdin: 'correct horse' })
          for (const cell of row.match(/[\w.@:]+/g) ?? []) expect(table.stdout).to.include(cell)
          expect(table.stdout + table.stderr).not.to.include('correct horse')
        }
      })
  })

  it('completes a response that lacks some of the values that were sent, and names them', async () => {
    const args = [
      'users',
      'create',
      '--email',
      'a@example.com',
      '--name',
      'Ada',
      '--no-password',
      '--allow-duplicates',
    ]
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
        const events = structured.stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
        expect(events.at(-1)).to.include({ v: 1, type: 'end', complete: false, response: 'Half of it' })
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
  const cases: [string, Partial<BulkState>, string][] = [
    ['the count, the rate, and the time left', {}, '5,000 of 20,000 users done, 123/s, 3m left'],
    [
      'failed and unknown rows',
      { counts: { done: 5000, failed: 4990, unknown: 10 } },
      '5,000 of 20,000 users done, 4,990 failed, 10 unknown, 123/s, 3m left',
    ],
    ['at least one second left', { left: 20 }, '5,000 of 20,000 users done, 123/s, 1s left'],
    [
      'the count and the rate if the total is unknown',
      { total: undefined, left: undefined },
      '5,000 users done, 123/s',
    ],
    [
      'the singular and a fractional rate for one row',
      { total: undefined, left: undefined, perSecond: 0.25, counts: { done: 1, failed: 0, unknown: 0 } },
      '1 user done, 0.3/s',
    ],
    [
      'a pause for the quota',
      { pause: { ms: 65 * 60_000, why: 'quota' } },
      'quota used up, paused for 1h 5m, 5,000 of 20,000 users done',
    ],
    [
      'a pause for the rate limit of the service',
      { pause: { ms: 30_000, why: 'limited' } },
      'rate limited, paused for 30s, 5,000 of 20,000 users done',
    ],
    [
      'zero rows of the total',
      { counts: { done: 0, failed: 0, unknown: 0 }, perSecond: 0, left: undefined },
      '0 of 20,000 users done',
    ],
  ]
  for (const [name, part, text] of cases)
    it(`shows ${name}`, () => expect(describeBulk({ ...state, ...part })).to.equal(text))

  it('has a bar with the percentage in a terminal', () => {
    expect(drawBar(0.25)).to.equal('█████░░░░░░░░░░░░░░░ 25%')
    expect(drawBar(1.2)).to.equal('████████████████████ 100%')
  })
})
