import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { additions } from '../../support/flag-table.ts'
import { perTest } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  failing,
  json,
  limited,
  type Script,
  silent,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { type ServedRun, serveRuns } from '../../support/served-runs.ts'

/** Every declared flag has a visible effect. */

const tests = join(import.meta.dirname, '../..')
const otherTests = globSync('**/*.test.ts', { cwd: tests, exclude: ['node_modules/**'] })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path !== 'cli/flags/flags.test.ts')
  .map((path) => ({ path, text: readFileSync(join(tests, path), 'utf8') }))

/** The tests that run the command, or cover its topic, as one text. */
const testsOf = new Map(
  commands.map(({ id }) => {
    const words = id.split(':')
    const calls = [`'${words.join("', '")}'`, `${words.join(' ')} `, `'${id} `]
    const found = otherTests.filter(
      ({ path, text }) => path.startsWith(`${words[0]}/`) || calls.some((call) => text.includes(call)),
    )
    return [id, found.map(({ text }) => text).join('')]
  }),
)

describe('command flags', function () {
  this.timeout(60_000)
  const { run } = serveRuns()

  it('are all tested, here or in another test that runs the command with the flag', () => {
    const tried = new Set(additions.map(({ name }) => name))
    const declared = commands.flatMap(({ id, flags: own }) =>
      Object.values(own)
        .filter(({ helpGroup }) => helpGroup !== 'GLOBAL')
        .map(({ name, summary }) => ({ id, name, summary })),
    )
    const isTried = ({ id, name }: { id: string; name: string }) =>
      tried.has(`${id} ${name}`) || new RegExp(`--(no-)?${name}(?![\\w-])`).test(testsOf.get(id) ?? '')
    // Flags with the same summary are one declaration that several commands share.
    const isSame = (one: (typeof declared)[number]) => (other: typeof one) =>
      other.name === one.name && other.summary === one.summary
    const untried = declared.filter((flag) => !isTried(flag) && !declared.filter(isSame(flag)).some(isTried))
    const places = 'Use these flags in a test of their command, or add them to test/support/flag-table.ts'
    expect(untried, places).to.deep.equal([])
    const all = declared.map(({ id, name }) => `${id} ${name}`)
    const former = [...tried].filter((flag) => !all.includes(flag))
    expect(former, 'Remove these from test/support/flag-table.ts').to.deep.equal([])
  })

  for (const { name, to, words, ...adds } of additions)
    it(`change the request: ${name}`, async () => {
      const args = to.split(' ')
      const [without, given] = [await run(args), await run([...args, ...words])]
      const [before, after] = [without.requests[0], given.requests[0]]
      const elsewhere = `--${name.split(' ')[1]} does not change the request so. If it acts only in the client, test it in a test of the command, and remove "${name}" from \`added\` of test/support/flag-table.ts`
      expect(adds, elsewhere).to.have.any.keys('body', 'query', 'headers')
      expect(after, given.stderr).not.to.equal(undefined)
      if (adds.body) {
        expect(JSON.parse(after?.body || '{}'), elsewhere).to.deep.include(adds.body)
        expect(JSON.parse(before?.body || '{}'), elsewhere).not.to.deep.include(adds.body)
      }
      if (adds.query) expect(after?.path, elsewhere).to.equal(`${before?.path}?${adds.query}`)
      if (adds.headers) expect(after?.headers, elsewhere).to.include(adds.headers)
    })
})

/** One run for each global flag, which is given as a flag and as a variable. */
interface SharedFlag {
  /** With its value. */
  flag: string
  /** Default: `users profile`. */
  args?: string
  script?: Script
  /** Whether the result shows the effect of the flag. */
  shows(result: ServedRun): boolean
}

const profile = json(200, { id: 'u1', email: 'a@b' })
const update = 'users update u1 --name x'
const shared: Record<string, SharedFlag> = {
  profile: {
    flag: '--profile nowhere',
    shows: ({ exitCode, stderr }) => exitCode === 2 && stderr.includes('unknown profile "nowhere"'),
  },
  'base-url': {
    flag: '--base-url https://no-such-host.invalid',
    args: 'api GET /x --dry-run',
    shows: ({ stdout }) => stdout === 'GET https://no-such-host.invalid/x\n',
  },
  output: { flag: '-o csv', shows: ({ stdout }) => stdout === 'key,value\nid,u1\nemail,a@b\n' },
  json: { flag: '--json', shows: ({ stdout }) => stdout.startsWith('{') },
  fields: { flag: '--fields email', shows: ({ stdout }) => stdout === 'email\ta@b\n' },
  jq: { flag: '--jq .id', shows: ({ stdout }) => stdout === 'u1\n' },
  quiet: { flag: '-q', args: update, script: answer(200, {}, 'done'), shows: ({ stderr }) => stderr === '' },
  debug: { flag: '--debug', shows: ({ stderr }) => /^> GET .*\n(> .+\n)+< 200 OK/.test(stderr) },
  timeout: {
    flag: '--timeout 300ms',
    args: update,
    script: silent,
    shows: ({ stderr }) => /No response from .* within 300 ms|no response from .* within 300 ms/.test(stderr),
  },
  retries: {
    flag: '--retries 0',
    script: failing(500, 'x', 'x'),
    shows: ({ requests }) => requests.length === 1,
  },
  'max-wait': {
    flag: '--max-wait 0',
    script: [limited({ 'retry-after': '1' }), profile],
    shows: ({ exitCode, requests }) => exitCode === 75 && requests.length === 1,
  },
  'no-color': {
    flag: '--no-color',
    script: failing(404, 'x', 'x'),
    shows: ({ stderr }) => /^Error: x \(404, GET \S+\)\n$/.test(stderr),
  },
}
/** Flags whose effect is visible only in a terminal. */
const onTerminals = ['no-input']

describe('global flags', function () {
  this.timeout(60_000)
  const { run } = serveRuns()

  it('are all tested here, and every command has them', () => {
    for (const { id, flags: own } of commands.filter(({ hidden }) => !hidden)) {
      const global = Object.values(own).filter(({ helpGroup }) => helpGroup === 'GLOBAL')
      const shown = global.map(({ name }) => name).sort()
      expect(shown, id).to.deep.equal([...Object.keys(shared), ...onTerminals].sort())
    }
  })

  for (const [name, { flag, args = 'users profile', script = profile, shows }] of Object.entries(shared)) {
    const variable = `CHATCTL_${name.toUpperCase().replace('-', '_')}`
    it(`have an effect as --${name} and as ${variable}`, async () => {
      const colors = name === 'no-color' ? { FORCE_COLOR: '1' } : {}
      const show = async (words: string, env: NodeJS.ProcessEnv = {}) => {
        const result = await run(words.split(' '), script, { env: { ...colors, ...env } })
        return { isShown: shows(result), text: result.stdout + result.stderr }
      }
      const given = await show(`${flag} ${args}`)
      expect(given.isShown, given.text).to.equal(true)
      const set = await show(args, { [variable]: flag.split(' ')[1] ?? '1' })
      expect(set.isShown, set.text).to.equal(true)
      // Otherwise the run would wait a minute for the silent service.
      if (name === 'timeout') return
      const without = await show(args)
      expect(without.isShown, without.text).to.equal(false)
    })
  }

  // --raw excludes --fields and --jq.
  for (const [line, ...variables] of [
    ['users profile --fields email', 'CHATCTL_FIELDS'],
    ['users profile --jq .email', 'CHATCTL_JQ'],
    ['chat send x --raw', 'CHATCTL_FIELDS', 'CHATCTL_JQ'],
  ] as const)
    it(`take precedence over their variables: ${line}`, async () => {
      const script = json(200, { id: 'u1', email: 'a@b', response: 'Hello', context_id: 'c' })
      const without = expectSuccess(await run(line.split(' '), script))
      const env = Object.fromEntries(variables.map((name) => [name, name === 'CHATCTL_JQ' ? '.id' : 'id']))
      expect((await run(line.split(' '), script, { env })).stdout).to.equal(without.stdout)
    })
})

describe('an unknown variable that begins with CHATCTL_', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const run = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
    const url = await server.serve(json(200, { id: 'u1', name: 'Ada' }))
    return runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key', ...env } })
  }
  const update = ['users', 'update', 'u1', '--name', 'Ada']

  it('is refused by a command that changes something, with the nearest known variable', async () => {
    const refused = await run(update, { CHATCTL_DRYRUN: 'canary' })
    const hint = 'Did you mean CHATCTL_DRY_RUN? Otherwise: unset CHATCTL_DRYRUN'
    expectFailure(refused, 2, 'CHATCTL_DRYRUN is not a variable of chatctl', hint)
    expect(refused.stderr).not.to.contain('canary')
    expect(server.requests).to.deep.equal([])
  })

  it('is a warning of a command that only reads', async () => {
    const env = { CHATCTL_SOMETHING_ELSE: 'canary' }
    const read = await run(['users', 'get', 'u1', '--fields', 'name'], env)
    const { stdout, stderr } = expectSuccess(read)
    expect(stdout).to.equal('Ada\n')
    const words = 'CHATCTL_SOMETHING_ELSE is not a variable of chatctl. Remove it with: unset'
    expect(stderr.replaceAll(/\s+/g, ' ')).to.match(new RegExp(`^Warning: ${words} CHATCTL_SOMETHING_ELSE`))
    expect(stderr).not.to.contain('canary')
  })

  it('is accepted if it is empty, or of the tests and the installer', async () => {
    const env = { CHATCTL_DRYRUN: '', CHATCTL_TEST_SAMPLE: '1', CHATCTL_DOWNLOADS: 'https://x.example' }
    expect(expectSuccess(await run(update, env)).stderr).not.to.contain('is not a variable')
  })
})
