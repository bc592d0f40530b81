import { expect } from 'chai'
import { type Endpoint, endpoints } from '../../src/contract/endpoints.ts'
import { jsonSchemaOf, ownText } from '../../src/contract/json-schema.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perSuite } from '../support/lifetime.ts'
import { commands, wordsOf } from '../support/manifest.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

interface DescribedFlag {
  name: string
  type: string
}

interface Described {
  name: string
  effect: string
  summary: string
  flags: DescribedFlag[]
  exit_codes: { code: number }[]
  schema?: object
  other_schemas: { schema: object }[]
  [field: string]: unknown
}

interface FlagDefinition {
  type: string
  parse(input: string, context: object, options: object): Promise<unknown>
}

const visible = commands.filter(({ hidden }) => !hidden)
const names = visible.map(({ id }) => wordsOf(id).join(' '))

describe('chatctl commands', () => {
  const sandbox = perSuite(createSandbox)

  async function print(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runChatctl(sandbox, ['commands', ...args])
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    return stdout
  }

  const describeAll = async (...words: string[]): Promise<Described[]> =>
    JSON.parse(await print(...words, '--json'))

  it('prints a line of JSON with the name, effect, and summary of each command, in at most 12 kB', async () => {
    const text = await print('--json')
    expect(text.length).to.be.at.most(12_000)
    const lines = text.split('\n').slice(1, -2)
    const rows = lines.map((line) => JSON.parse(line.replace(/,$/, '')))
    expect(rows).to.deep.equal(JSON.parse(text))
    expect(rows.map(({ name }) => name)).to.deep.equal(names.sort())
    for (const row of rows) expect(row).to.have.all.keys('name', 'effect', 'summary')
  })

  it('prints a table of the same in a terminal', async () =>
    expect(await print('-o', 'table')).to.match(/^NAME +EFFECT +SUMMARY\nactivity +reads +Show the changes/))

  it('has the effect of each command', async () => {
    const all = await describeAll()
    for (const [expected, ...some] of [
      ['changes the service', 'api', 'chat send', 'service keys create', 'users apply'],
      ['reads', 'chat models', 'config list', 'doctor', 'service keys list', 'settings diff'],
      ['changes this machine', 'config set', 'history sync', 'plan approve', 'service backup'],
      ['changes this machine', 'service run', 'users adopt'],
    ])
      for (const one of some) expect(all.find(({ name }) => name === one)?.effect, one).to.equal(expected)
    for (const { id, flags } of visible) {
      const effect = all.find(({ name }) => name === wordsOf(id).join(' '))?.effect
      if ('dry-run' in flags) expect(effect, id).not.to.equal('reads')
    }
  })

  it('describes commands and groups whose names are given in one argument or several', async () => {
    const described = await describeAll('chat', 'send', 'users import', 'settings', 'api')
    const expected = ['chat send', 'users import', 'settings api get', 'settings api set']
    expect(described.map(({ name }) => name)).to.deep.equal(expected)
  })

  it('describes the arguments, flags, requests, permissions, and exit codes of a command', async () => {
    const [described] = await describeAll('users', 'permissions', 'assign')
    expect(described).to.deep.include({
      usage: [
        'chatctl users permissions assign ID [PERMISSION...] [flags]',
        'chatctl users permissions assign --file FILE [flags]',
      ],
      non_interactive: [['--yes']],
      requests: ['POST /v1/users/{id}/permissions'],
      requests_note:
        'and with `--file` one more to read the rate limit, and for an email address, first GET /v1/users/{id}.',
      permissions: ['assign:permissions'],
    })
    expect(described?.['arguments']).to.have.nested.property('[0].repeatable', true)
    expect(described?.flags.find(({ name }) => name === '--format')).to.deep.equal({
      ...{ name: '--format', type: 'string', value: 'FORMAT', requires: ['--file'] },
      values: ['csv', 'jsonl', 'json', 'yaml'],
      summary: 'Format of the file: csv, jsonl, json, or yaml (default: from the file extension)',
    })
    const codes = described?.exit_codes.map(({ code }) => code)
    expect(codes).to.include.members([0, 2, 9, 69, 75]).and.not.include(10)
    // With --service, it may open PostgreSQL.
    const [history] = await describeAll('settings history')
    expect(history?.exit_codes.map(({ code }) => code)).to.include(69)
  })

  it('marks all text in the schemas, except the listed text of chatctl', async () => {
    const texts = (await describeAll(...names)).flatMap(({ name, schema, other_schemas }) =>
      [schema, ...other_schemas.map((other) => other.schema)].flatMap((one) => textsOf(one, name)),
    )
    const listed = ownText.trim().split(' ')
    for (const { path, isMarked, where } of texts)
      expect(isMarked, `${where}: ${path}`).to.equal(!listed.includes(path))
    const paths = texts.map(({ path }) => path)
    expect(paths).to.include.members(listed)
    expect(paths).to.include.members(
      [
        'actor target before after key_id request_id app_name metadata name email id error values settings.theme',
        'changes.path changes.from changes.to users.changes.from users.changes.to users.error.message plan.made_by',
        'choices.message.content response turns.answer messages.content data.id snippet first_message message',
      ].flatMap((line) => line.split(' ')),
    )
    for (const { response } of Object.values(endpoints) as Endpoint[]) {
      const foreign = textsOf(response && jsonSchemaOf(response)).map(({ path }) => path)
      expect(foreign.filter((path) => listed.includes(path))).to.deep.equal([])
    }
  })

  it('refuses an unknown name with exit code 2, and suggests the nearest', async () => {
    for (const [words, message, hint] of [
      ['user', 'Unknown command: chatctl user', 'Did you mean: chatctl users'],
      ['users imports', 'Unknown command: chatctl users imports', 'Did you mean: chatctl users import'],
      ['chat snd', 'Unknown command: chatctl chat snd', 'Did you mean: chatctl chat send'],
    ] as const)
      expectFailure(await runChatctl(sandbox, ['commands', ...words.split(' ')]), 2, message, hint)
  })

  it('has the type integer for flags that take nothing but whole numbers', async () => {
    const all = await describeAll(...names)
    for (const { id } of visible) {
      const module = await import(`../../src/commands/${wordsOf(id).join('/')}.ts`)
      const flags: Record<string, FlagDefinition> = module.default.flags ?? {}
      const described = all.find(({ name }) => name === wordsOf(id).join(' '))?.flags ?? []
      for (const { name, type } of described) {
        const flag = flags[name.slice(2)]
        if (!flag || name === '--timeout') continue
        expect(type === 'integer', `${id} ${name}`).to.equal(await takesIntegers(flag))
      }
    }
  })
})

interface SchemaNode {
  type?: string | string[]
  anyOf?: object[]
  items?: object
  properties?: Record<string, object>
  'x-untrusted'?: true
}

interface DescribedText {
  path: string
  where: string
  isMarked: boolean
}

/** The parts of a JSON Schema that may be text: all but numbers and Boolean values. */
function textsOf(schema: object | undefined, where = '', path = ''): DescribedText[] {
  const { type, anyOf, items, properties, 'x-untrusted': mark }: SchemaNode = schema ?? { type: 'null' }
  if (anyOf) return anyOf.flatMap((one) => textsOf(one, where, path))
  if (items) return textsOf(items, where, path)
  const inner = Object.entries(properties ?? {})
  if (inner.length > 0)
    return inner.flatMap(([name, one]) => textsOf(one, where, path === '' ? name : `${path}.${name}`))
  const others = ['integer', 'number', 'boolean', 'null']
  const isText = type === undefined || [type].flat().some((one) => !others.includes(one))
  return isText ? [{ path, where, isMarked: mark === true }] : []
}

async function takesIntegers(flag: FlagDefinition): Promise<boolean> {
  if (flag.type === 'boolean') return false
  const read = (text: string) => flag.parse(text, {}, flag).catch(() => undefined)
  const values = await Promise.all(['7', '7.5', '7k', 'off', 'last'].map(read))
  return values[0] === 7 && values.slice(1).every((value) => value === undefined)
}
