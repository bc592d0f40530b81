import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { commands, wordsOf } from '../support/manifest.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { readDocumentExamples, readHelpExamples } from './read-examples.ts'
import { type ExampleCheck, runExamples } from './run-examples.ts'
import { typeInProcess } from './type-in-process.ts'

interface Described {
  name: string
  exit_codes: { code: number | null }[]
  schema?: object
  other_schemas: { with: string; schema: object }[]
}

/** Commands whose JSON is not checked here, with the reason. */
const unchecked: Readonly<Record<string, string>> = {
  autocomplete: 'prints a script',
  'auth refresh': 'needs a sign-in with a browser',
  chat: 'needs a terminal',
  exec: 'prints what its program prints',
  'plan approve': 'needs a saved plan and an SSH key',
  'settings revert': 'needs the ID of a change',
}

/** Lines for commands whose examples print no JSON, and for other schemas. */
const moreLines = [
  'chatctl history export -o json',
  'chatctl settings export',
  'chatctl settings schema',
  'chatctl service users export usr_admin',
  'chatctl chat send Hello --stream',
  'chatctl chat send Hello --system Brief --no-stream',
  'chatctl users import users.csv --dry-run',
  'chatctl users apply users.yaml --no-password --dry-run',
  'chatctl settings set theme.mode=light --dry-run',
]
const document = 'other lines'
const isJson = (text: string) => !/--(jq|fields|include|raw|output)\b| -o (?!json\b)| > /.test(text)
/** One of each command. test/slow/examples runs all of them. */
const examples = readHelpExamples(
  (texts) => texts.find((text) => typeInProcess.knows(text) && isJson(text)) ?? texts[0],
).set(
  document,
  moreLines.map((text) => ({ document, text })),
)

/** The examples run with CHATCTL_JSON, so that one run also checks the schema that `chatctl commands` prints. */
describe('the help', function () {
  this.timeout(60_000)
  const sandbox = perSuite(createSandbox)
  const checked = new Set<string>()
  const described = new Map<string, Described>()

  before(async () => {
    const names = commands.filter(({ hidden }) => !hidden).map(({ id }) => wordsOf(id).join(' '))
    const { stdout } = await runChatctl(sandbox, ['commands', ...names, '--json'])
    for (const one of JSON.parse(stdout) as Described[]) described.set(one.name, one)
    expect([...described.keys()]).to.have.members(names)
  })

  const check: ExampleCheck = (text, { exitCode, stdout }) => {
    const words = text.split(' ')
    const name = [3, 2, 1].map((end) => words.slice(1, 1 + end).join(' ')).find((one) => described.has(one))
    const command = described.get(name ?? '')
    expect(command?.exit_codes.map(({ code }) => code)).to.include(exitCode)
    if (!command?.schema || stdout === '' || !isJson(text)) return
    const isGiven = (flag: string) => words.includes(flag) || (flag === 'KEY' && words.length > 3)
    const schema = command.other_schemas.find((other) => isGiven(other.with))?.schema ?? command.schema
    const validate = compile(schema)
    for (const value of isGiven('--stream') ? stdout.trim().split('\n') : [stdout]) {
      const isValid = validate(JSON.parse(value))
      expect(isValid, `${text}\n${value}\n${JSON.stringify(validate.errors)}`).to.equal(true)
    }
    checked.add(command.name)
  }

  runExamples(
    'an example',
    examples,
    {
      ...typeInProcess,
      type: (sandbox, text, until) => {
        const env = / > /.test(text) ? sandbox.env : { ...sandbox.env, CHATCTL_JSON: '1' }
        return typeInProcess.type({ ...sandbox, env }, text, until)
      },
    },
    check,
  )

  describe('with all examples', () => {
    it('checks the JSON of each command', () => {
      const missing = [...described.keys()].filter((name) => !checked.has(name))
      expect(missing).to.have.members(Object.keys(unchecked))
    })
  })
})

const validators = new Map<object, ValidateFunction>()
// Most of the time of this file would be the check of the schemas, and faster code for what runs once.
const ajv = new Ajv2020({ allowUnionTypes: true, validateSchema: false, code: { optimize: false } })
ajv.addKeyword('x-untrusted')

/** A validator that also refuses properties which the schema does not name. */
function compile(schema: object): ValidateFunction {
  const known = validators.get(schema)
  if (known) return known
  const validate = ajv.compile(closed(schema) as object)
  validators.set(schema, validate)
  return validate
}

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  return 'properties' in schema ? { ...inner, additionalProperties: false } : inner
}

const ofHelp = new Set([...readHelpExamples().values()].flat().map(({ text }) => text))
const readme = [...readDocumentExamples()].filter(([document]) => document === 'README.md')

// test/slow/examples/examples.test.ts runs those of all documents.
runExamples('an example that only the README has', new Map(readme), {
  ...typeInProcess,
  knows: (text) => typeInProcess.knows(text) && !ofHelp.has(text),
})
