import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import yaml from 'yaml'
import { writeFailedRows } from '../../../src/bulk/failed-rows.ts'
import type { InputFormat } from '../../../src/bulk/input/input.ts'
import type { InputRow } from '../../../src/bulk/input/input-row.ts'
import type { ImportedUser } from '../../../src/users/rows/imported-user.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { failureOf, faultsOf, rowsOf, textInput } from './text-input.ts'

const text = fc.string({ unit: fc.constantFrom(...'ab-#:"\'[]{},\\\n\t é😀&*!') })
const word = fc.string({ unit: fc.constantFrom(...'abc'), minLength: 1 })
const metadata = fc.dictionary(
  text.filter((key) => key !== '__proto__'),
  fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text)),
)
const row = fc.record(
  {
    email: word.map((name) => `${name}@example.com`),
    name: text,
    metadata,
    settings: fc.record({ theme: text, notifications_enabled: fc.boolean() }),
    permissions: fc.array(word.map((name) => `read:${name}`)),
    role: text.map((role) => `r${role.trim()}`),
  },
  { requiredKeys: ['email'], noNullPrototype: true },
)
const rows = fc.array(row, { minLength: 1, maxLength: 6 })
/** A block scalar of only white space, as yaml writes it, is read as another text. */
const plain = { aliasDuplicateObjects: false, blockQuote: false }

const writers: [string, InputFormat, (rows: readonly ImportedUser[]) => string][] = [
  ['JSONL', 'jsonl', (all) => all.map((one) => JSON.stringify(one)).join('\r\n')],
  ['JSON', 'json', (all) => JSON.stringify(all)],
  ['indented JSON', 'json', (all) => JSON.stringify(all, undefined, 2)],
  ['JSON in an object', 'json', (all) => `${JSON.stringify({ users: all })}\n`],
  ['a YAML list', 'yaml', (all) => yaml.stringify(all, plain)],
  ['YAML in a map', 'yaml', (all) => `# all\n${yaml.stringify({ users: all }, plain)}`],
  ['YAML flow mappings', 'yaml', (all) => all.map((one) => `- ${JSON.stringify(one)}\n`).join('')],
]

describe('a file of rows', () => {
  for (const [name, format, write] of writers)
    it(`is read as it was written: ${name}`, () =>
      fc.assert(
        fc.asyncProperty(rows, async (given) => {
          const read = await rowsOf(textInput(format, write(given)))
          const found = read.map(({ row, index, faults }) => ({ row, index, faults }))
          expect(found).to.deep.equal(given.map((row, index) => ({ row, index, faults: [] })))
        }),
      ))

  it('has the position of each invalid field', async () => {
    const wrong =
      '{"email": "é😀@x", "nmae": 1, "metadata": {"a": [1, {"__proto__": 2}]}, "permissions": ["a:b", "c"]}'
    const at = (line: number, column: number): string[] => [
      `${line}:${column + 19} unknown field "nmae", did you mean "name"?`,
      `${line}:${column + 53} the key "__proto__" is not allowed`,
      `${line}:${column + 95} permission "c" must have the form <action>:<resource>, such as read:chat`,
    ]
    expect(await faultsOf('jsonl', `{"email":"a@x"}\n\n${wrong}`)).to.deep.equal(at(3, 1))
    expect(await faultsOf('json', `[{"email":"😀@x"}, ${wrong}]`)).to.deep.equal(at(1, 20))
    expect(await faultsOf('yaml', `# users\n- email: a@x\n- ${wrong}`)).to.deep.equal(at(3, 3))
  })

  it('has a message for each wrong type', async () => {
    const lines: [object, string][] = [
      [{ email: 5 }, '1:2 email must be a string'],
      [{ email: null, name: 'x' }, '1:1 email is missing: a row without an id creates a user'],
      [{ email: '\ud800@x' }, '1:2 "\\ud800@x" is not a valid email address'],
      [{ email: 'a@x', permissions: 'a:b' }, '1:16 permissions must be a list of strings'],
      [{ email: 'a@x', permissions: ['a:b', 1] }, '1:37 a permission must be a string'],
      [{ email: 'a@x', metadata: [] }, '1:16 metadata must be an object'],
      [{ email: 'a@x', settings: true }, '1:16 settings must be an object'],
      [{ email: 'a@x', settings: { theme: 1 } }, '1:28 settings.theme must be a string'],
      [
        { email: 'a@x', settings: { notifications_enabled: 'on' } },
        '1:28 settings.notifications_enabled must be true or false',
      ],
      [{ email: 'a@x', settings: { tehme: 'x' } }, '1:28 unknown field "tehme", did you mean "theme"?'],
      [{ email: 'a@x', password: '' }, '1:16 password must not be empty'],
      [{ email: 'a@x', role: '' }, '1:16 role must not be empty'],
      [{ id: '', name: 'x' }, '1:2 the id must not be empty'],
      [['a@x'], '1:1 a row must be an object'],
    ]
    for (const [row, fault] of lines)
      expect(await faultsOf('jsonl', JSON.stringify(row)), JSON.stringify(row)).to.deep.equal([fault])
    const deep = `{"email":"a@x","metadata":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_001)}`
    const [fault] = await faultsOf('jsonl', deep)
    expect(fault).to.match(/invalid JSON: nested too deeply$/)
  })

  it('has the position of invalid JSON, which the message does not quote', async () => {
    const texts: [string, string][] = [
      ['{"a" "b"}', '1:6 invalid JSON: expected a colon'],
      ['{"a": hunter2}', '1:7 invalid JSON: expected a JSON value'],
      ['{"a": 1 "b"}', '1:9 invalid JSON: expected a comma'],
      ['{"a": 1,}', '1:9 invalid JSON: expected a key in double quotes'],
      ["{'a': 1}", '1:2 invalid JSON: expected a JSON value'],
      ['{"a": [1,]}', '1:10 invalid JSON: expected a JSON value'],
      ['{"a": [1}', '1:9 invalid JSON: expected a comma'],
      ['{"a": "\\x"}', '1:7 invalid JSON: not a JSON string'],
      ['{"a": "b', '1:7 invalid JSON: not a JSON string'],
      ['{"a": {', '1:8 invalid JSON: expected a comma or }'],
      ['{"a": 1} x', '1:10 invalid JSON: expected a JSON value'],
    ]
    for (const [line, fault] of texts) expect(await faultsOf('jsonl', line), line).to.deep.equal([fault])
  })

  it('is refused at the second one of two equal names in an object', async () => {
    const long = `{"email":"a@x","metadata":{"a":1${'0'.repeat(1_000)}}}`
    const texts: [string, string[]][] = [
      [long, ['1:32 invalid JSON: a number must not have more than 1,000 characters']],
      ['{"email":"a@x","metadata":{"a":1},"metadata":{"a":2}}', ['1:35 duplicate key "metadata"']],
      ['{"email":"a@x","metadata":{"a":[{"b":1, "\\u0062":2}]}}', ['1:41 duplicate key "b"']],
      ['{"email":"a@x","metadata":{"a":{"email":1},"b":["a","a"],"c":"\\"email\\":{"}}', []],
    ]
    for (const [text, faults] of texts) {
      expect(await faultsOf('jsonl', text), text).to.deep.equal(faults)
      const whole = faultsOf('json', `[${text}]`).then(
        (none) => none,
        ({ message }) => [message.replace(/^rows:/, '').replace(': ', ' ')],
      )
      const inList = faults.map((fault) => fault.replace(/:(\d+)/, (_, column) => `:${Number(column) + 1}`))
      expect(await whole, text).to.deep.equal(inList)
    }
  })

  it('has one fault for each invalid item of YAML, which the message does not quote', async () => {
    const items = [
      '- email: a@x\n  email: b@x',
      '- password: !hunter2 x',
      '- name: "open',
      '- password: "\\hunter2"',
      '- email: c@x\n  metadata: {a: .inf}',
      '- - email: a@x',
      '- email: d@x',
    ]
    expect(await faultsOf('yaml', items.join('\n'))).to.deep.equal([
      '2:3 duplicate key email',
      '3:13 Unresolved tag',
      '4:14 Missing closing "quote',
      '5:14 Invalid escape sequence',
      '7:14 a number must be at most 9007199254740991: put a longer one in quotes',
      '8:3 a row must be an object',
    ])
    const failure = await failureOf(() => faultsOf('yaml', '- password: *hunter2'))
    expect(failure.message).to.equal('rows:1:13: unknown alias')
  })

  const refused: [InputFormat, string, string][] = [
    ['jsonl', '\n\n', 'rows contains no users'],
    ['json', '  ', 'rows contains no users'],
    ['json', '[]', 'rows contains no users'],
    ['json', '{"users": []}', 'rows contains no users'],
    ['json', '{"users":{"email":"a@x"}}', 'rows:1:10: expected a list of objects or {"users": [...]}'],
    ['json', '{"data":[],"a":1}', 'rows:1:1: expected a list of objects or {"users": [...]}'],
    ['json', '\n 5', 'rows:2:2: expected a list of objects or {"users": [...]}'],
    ['json', '[\n{"email":"a@x"},\n{"email":', 'rows:3:10: invalid JSON: expected a JSON value'],
    ['json', '{"users":[{"email":"a@x"}]', 'rows:1:27: invalid JSON: expected a comma or }'],
    ['json', '[{"email":"a@x"} {}]', 'rows:1:18: invalid JSON: expected a comma'],
    ['json', '[{"email":"a@x"},]', 'rows:1:18: invalid JSON: expected a JSON value'],
    ['json', '[{"email":"a@x"}] x', 'rows:1:19: invalid JSON: expected a JSON value'],
    ['json', '{"users":[],"a":1}', 'rows:1:1: expected a list of objects or {"users": [...]}'],
    ['yaml', '# nothing\n---\n', 'rows contains no users'],
    ['yaml', '%YAML 1.1\n---\n- email: a@x\n', 'rows:1:1: the file is YAML 1.1; only YAML 1.2 is supported'],
    ['yaml', 'users:\n  email: a@x', 'rows:2:3: expected a list of users'],
    ['yaml', 'email: a@x', 'rows:1:1: expected a list of users'],
    ['jsonl', `{"email":"${'a'.repeat(2_000_000)}"}`, 'rows:1: the row is longer than 1 MiB'],
  ]
  it('is refused with more than 100,000 rows', async () => {
    const many = await failureOf(() => rowsOf(textInput('jsonl', '{"email":"a@x"}\n'.repeat(100_001))))
    expect([many.kind, many.message]).to.deep.equal(['refused', 'rows has more than 100,000 rows'])
  })

  for (const [format, given, message] of refused)
    it(`is refused as a whole: ${format} ${JSON.stringify(given.slice(0, 40))}`, async () => {
      const failure = await failureOf(() => rowsOf(textInput(format, given)))
      expect(failure).to.include({ kind: 'refused', message })
    })
})

type Row = InputRow<ImportedUser>

const inputs: Record<InputFormat | 'yaml in a map', string> = {
  csv: 'email,name,password,metadata.a\r\na@x,"A, ""B""\nC",pw,1\r\n,"x,y",,\nb@x,,,"open\n"c@x",,,\nd@x,é😀,pw,2\ne@x,,,"\n',
  jsonl:
    '{"email":"a@x","name":"A","password":"pw","metadata":{"a":[1]}}\r\n{"emial":1}\n{"a":\n{"email":"b@x","role":"r"}',
  json: '{"users":[\n  {"email":"a@x","name":"A","password":"pw"},\n {"emial":[1]}, 5, {"a":true}, {"email":"b@x","role":"r"}]}',
  yaml: '- email: a@x\n  name: |\n    A\n    - B\n  password: pw\n- email: !x y\n- "open\n- {"emial": 1}\n- email: b@x\n  permissions:\n  - a:b\n- email: c@x # last',
  'yaml in a map':
    'x: &pw pw\nusers:\n- email: a@x\n  name: "- A: \\n #"\n  password: *pw\n- email: b@x\n  metadata: {a: .inf}\n- c@x\n',
}

describe('the file of failed rows', () => {
  const directory = perTest(makeEmptyDirectory)
  let path: string
  beforeEach(() => {
    path = join(directory.path, 'failed')
  })

  async function rewrite(
    format: InputFormat,
    rows: readonly Row[],
    idOf: (row: Row) => string | undefined = () => undefined,
  ): Promise<Row[]> {
    const failed = rows.map((row) => ({ row, id: idOf(row) }))
    await writeFailedRows(path, failed, format, true)
    return rowsOf(textInput(format, readFileSync(path, 'utf8')))
  }

  for (const [name, text] of Object.entries(inputs)) {
    const [format] = name.split(' ') as [InputFormat]
    it(`contains the rows, including invalid ones: ${name}`, async () => {
      const all = await rowsOf(textInput(format, text))
      await fc.assert(
        fc.asyncProperty(fc.subarray(all, { minLength: 1 }), async (rows) => {
          const again = await rewrite(format, rows)
          expect(again.map(({ row }) => row)).to.deep.equal(rows.map(({ row }) => row))
          expect(again.map(({ faults }) => faults.length > 0)).to.deep.equal(
            rows.map(({ faults }) => faults.length > 0),
          )
        }),
        { numRuns: 40 },
      )
    })

    it(`contains the ID of a created user, and no password: ${name}`, async () => {
      const rows = (await rowsOf(textInput(format, text))).filter(({ faults }) => faults.length === 0)
      const again = await rewrite(format, rows, ({ index }) =>
        index === rows[0]?.index ? 'new "1",' : undefined,
      )
      const [first, ...others] = rows.map(({ row }) => row)
      const { password: _, ...kept } = first ?? {}
      expect(again.map(({ row }) => row)).to.deep.equal([{ ...kept, id: 'new "1",' }, ...others])
      expect(readFileSync(path, 'utf8').match(/pw/g)?.length ?? 0).to.equal(
        others.filter((row) => row?.password !== undefined).length,
      )
    })
  }

  it('has the IDs in the id column of the file', async () => {
    const rows = await rowsOf(textInput('csv', 'email,id,password\na@x,,pw\n,7,\nb@x,,pw\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal('email,id,password\na@x,5,\n,7,\nb@x,,pw\n')
  })

  it('has the separator of the file', async () => {
    const rows = await rowsOf(textInput('csv', 'email;name\na@x;"A;B"\nb@x;B,C\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal('id;email;name\n5;a@x;"A;B"\n;b@x;B,C\n')
  })

  it('has the header and the other cells as the file wrote them', async () => {
    const rows = await rowsOf(textInput('csv', ' Email, ID ,metadata.a:=\n a@x ,,"[1, 2]"\n b@x ,,x\n'))
    await rewrite('csv', rows, ({ index }) => (index === 0 ? '5' : undefined))
    expect(readFileSync(path, 'utf8')).to.equal(' Email, ID ,metadata.a:=\n a@x ,5,"[1, 2]"\n b@x ,,x\n')
  })
})
