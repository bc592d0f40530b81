import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import type { RowFault } from '../../src/bulk/input/input-row.ts'
import { canonicalJson, parseJson } from '../../src/contract/notation/exact-json.ts'
import { yamlWriting } from '../../src/contract/notation/yaml-scalars.ts'
import type { RunFiles } from '../../src/run/run.ts'
import { type CheckedInput, checkInput } from '../../src/users/rows/check-input.ts'
import { type PlacedUser, UserFiles, type UserFilesOptions } from '../../src/users/user-files.ts'
import { describeFault, failureOf, textInput } from '../bulk/input/text-input.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { anyWantedUser } from './any-users.ts'

describe('files that describe users', () => {
  const directory = perTest(makeEmptyDirectory)

  async function read(
    files: Record<string, string>,
    options: Partial<UserFilesOptions> = {},
  ): Promise<PlacedUser[]> {
    for (const [name, text] of Object.entries(files))
      if (name !== '-') writeFileSync(join(directory.path, name), text)
    const run = {
      signal: new AbortController().signal,
      stdin: Readable.from([Buffer.from(files['-'] ?? '')]),
      untilEnded: () => () => {},
      resolvePath: (name: string) => join(directory.path, name),
    }
    const names = Object.keys(files)
    const opened = await UserFiles.open(run, names, { format: undefined, env: undefined, ...options })
    const count = await opened.check()
    expect(opened.users).to.have.length(count)
    return [...opened.users]
  }

  const failureFor = (files: Record<string, string>, options?: Partial<UserFilesOptions>) =>
    failureOf(() => read(files, options))

  it('contain the same users in every format', () =>
    fc.assert(
      fc.asyncProperty(anyWantedUser, async ({ email, ...fields }) => {
        fc.pre(!Object.hasOwn(fields.metadata ?? {}, '__proto__'))
        const given = [
          { email, ...fields },
          { email: 'bob@example.com', role: 'member' },
        ]
        const json = JSON.stringify(given)
        const texts = {
          'users.json': json,
          'more.json': `{"users": ${json}}`,
          'users.jsonl': given.map((user) => JSON.stringify(user)).join('\n'),
          'users.yaml': stringify(parseJson(json), yamlWriting(parseJson(json))),
          'map.yaml': stringify({ users: parseJson(json) }, yamlWriting(parseJson(json))),
        }
        for (const [name, text] of Object.entries(texts))
          expect(canonicalJson((await read({ [name]: text })).map(({ user }) => user)), name).to.equal(
            canonicalJson(given.map((user) => withoutEmptySettings(user))),
          )
      }),
      { numRuns: 20 },
    ))

  it('are read one after the other, with the place of each user', async () => {
    const users = await read({
      'a.csv': 'email,name\nada@example.com,Ada\n\nbob@example.com,Bob\n',
      '-': '- email: eve@example.com\n',
      'c.yaml': 'x-staff: &staff { role: staff }\nusers:\n  - { <<: *staff, email: zoe@example.com }\n',
    })
    expect(users.map(({ user, file, line }) => `${file}:${line} ${user.email} ${user.role}`)).to.deep.equal([
      'a.csv:2 ada@example.com undefined',
      'a.csv:4 bob@example.com undefined',
      'stdin:1 eve@example.com undefined',
      'c.yaml:3 zoe@example.com staff',
    ])
  })

  it('can repeat a YAML anchor of one user in another', async () => {
    const users = await read({
      'users.yaml':
        '- &ada\n  email: ada@example.com\n  metadata: { team: a }\n- <<: *ada\n  email: bob@example.com\n',
    })
    expect(users.map(({ user }) => user)).to.deep.equal([
      { email: 'ada@example.com', metadata: { team: 'a' } },
      { email: 'bob@example.com', metadata: { team: 'a' } },
    ])
  })

  it('must not contain an email twice, in any case and in any file', async () => {
    const { kind, message } = await failureFor({
      'a.csv': 'email\nada@example.com\nADA@example.com\n',
      'b.jsonl': '{"name": "Bob", "email": "bob@example.com"}\n{"email": "Ada@Example.com"}\n',
    })
    expect(kind).to.equal('refused')
    expect(message.split('\n')).to.deep.equal([
      'Nothing was sent, because the input has 2 errors:',
      'a.csv:3:1: email is already used at a.csv:2',
      'b.jsonl:2:2: email is already used at a.csv:2',
    ])
  })

  it('are refused with every fault of every file', async () => {
    const { message, details } = await failureFor({
      'a.csv': 'email,settings.notifications_enabled\nada@,on\nbob@example.com,perhaps\n,on\n',
      'b.yaml': 'users:\n  - email: eve@example.com\n    roles: admin\n  - name: Zoe\n',
    })
    expect(message.split('\n')).to.deep.equal([
      'Nothing was sent, because the input has 5 errors:',
      'a.csv:2:1: "ada@" is not a valid email address',
      'a.csv:3:17: settings.notifications_enabled must be on, off, true, or false',
      'a.csv:4:1: email is missing',
      'b.yaml:3:5: unknown field "roles", did you mean "role"?',
      'b.yaml:4:5: email is missing',
    ])
    expect(details).to.deep.include({ count: 5 })
  })

  it('contain no passwords', async () => {
    for (const files of [
      { 'a.csv': 'email,password\nada@example.com,hunter2\n' },
      { 'a.yaml': '- { email: ada@example.com, password: hunter2 }' },
    ] as Record<string, string>[]) {
      const { message, advice } = await failureFor(files)
      expect(message).to.match(
        /^a\.\w+:1:\d+: password is not allowed: a file of managed users contains no sec/m,
      )
      expect(message).not.to.include('hunter2')
      expect(advice).to.deep.equal([{ code: 'new_passwords' }])
    }
  })

  it('have references to the environment expanded only on request', async () => {
    const files = {
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: references
      'a.csv': 'email,name,settings.notifications_enabled\nada@${DOMAIN},$${x} ${NAME},${FLAG}\n',
      'b.yaml':
        '- email: bob@${DOMAIN}\n  metadata: { a: ["${NAME}"] }\n  settings: { notifications_enabled: "${FLAG}" }\n',
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: references
    }
    const env = { DOMAIN: 'example.com', NAME: 'A, "b"', FLAG: 'off' }
    expect((await read(files, { env })).map(({ user }) => user)).to.deep.equal([
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a literal ${
      { email: 'ada@example.com', name: '${x} A, "b"', settings: { notifications_enabled: false } },
      { email: 'bob@example.com', metadata: { a: ['A, "b"'] }, settings: { notifications_enabled: false } },
    ])
    const unset = await failureFor({ 'b.yaml': files['b.yaml'] }, { env: { ...env, NAME: undefined } })
    expect(unset.message).to.contain('b.yaml:2:19: the value needs NAME, which is not set')
    expect((await failureFor(files)).message).to.include('settings.notifications_enabled must be')
  })

  it('say why YAML with anchors is too large', async () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}: 1`).join(', ')
    const rows = Array.from({ length: 220 }, (_, index) => `- { <<: *a, email: u${index}@example.com }\n`)
    const text = `- &a { email: ada@example.com, metadata: { ${keys} } }\n${rows.join('')}`
    const { kind, message, hint } = await failureFor({ 'users.yaml': text })
    expect(kind).to.equal('refused')
    expect(message).to.match(/^users\.yaml:\d+:\d+: the file has more than 200000 values$/)
    expect(hint).to.include('Split the file')
  })

  it('are refused if they contain no list of users', async () => {
    const failures = [
      await failureFor({ 'a.yaml': 'user:\n  - email: ada@example.com\n' }),
      await failureFor({ 'a.yaml': 'users: none\n' }),
      await failureFor({ 'a.csv': 'name\nAda\n' }),
      await failureFor({ 'a.csv': 'email\n' }),
    ]
    expect(failures.map(({ message }) => message)).to.deep.equal([
      'a.yaml:1:1: expected a list of users',
      'a.yaml:1:8: expected a list of users',
      'a.csv:1:1: missing column: email is required',
      'a.csv contains no managed users',
    ])
  })

  it('cannot both come from stdin', async () => {
    const opening = UserFiles.open({} as RunFiles, ['-', '-'], {} as UserFilesOptions)
    expect((await failureOf(() => opening)).kind).to.equal('usage')
  })
})

/** The reader omits settings without a key. */
function withoutEmptySettings<T extends { settings?: object }>({ settings, ...user }: T): object {
  return { ...user, ...(settings && Object.keys(settings).length > 0 && { settings }) }
}

async function check(text: string): Promise<{ checked: CheckedInput; faults: string[] }> {
  const faults: string[] = []
  const add = (fault: RowFault) => faults.push(describeFault(fault))
  const checked = await checkInput(textInput('csv', text), 'users', add)
  return { checked, faults }
}

describe('checking a file of users', () => {
  it('returns the valid rows, and why the others are invalid', async () => {
    const text =
      'id,email,name,password,role,settings.theme\n,a@x,,pw,,\n,b@x,,,editor,dark\n1,c@x,C,,,\n2,,,,editor,\n,bad,,,,\n'
    const { checked, faults } = await check(text)
    const { rows, valid, ...counts } = checked
    expect(counts).to.deep.equal({
      sha256: createHash('sha256').update(text).digest('hex'),
      updatesWithEmail: 1,
      warnings: [],
    })
    expect([rows.length, valid.map(({ index }) => index)]).to.deep.equal([5, [0, 1, 2, 3]])
    expect(rows[4]).to.include({ line: 6, fault: '"bad" is not a valid email address' })
    expect(faults).to.deep.equal(['6:2 "bad" is not a valid email address'])
  })

  it('finds duplicate emails and IDs, whatever their case, in the order of the lines', async () => {
    const text =
      'id,email,name\n,a@x,\n,B@x,n\n7,,n\n,bad,\n,A@X,\n7,,m\n8,a@x,n\n,b@x ,\n,b@x,\n8,9@x,n\n9,8@x,n\n'
    const { checked, faults } = await check(text)
    expect(faults).to.deep.equal([
      '5:2 "bad" is not a valid email address',
      '6:2 email is already used on line 2',
      '7:1 id is already used on line 4',
      '8:3 email is already used on line 2',
      '9:2 email is already used on line 3',
      '10:2 email is already used on line 3',
    ])
    const faulty = checked.rows.filter(({ fault }) => fault !== undefined)
    expect(faulty.map(({ index }) => index)).to.deep.equal([3, 4, 5, 6, 7, 8])
  })

  it('reports the columns of the header that it recognizes in another case', async () => {
    const header = ' Email,ID,METADATA.Company,Metadata.Seats:=,Settings.Theme,name'
    const { checked, faults } = await check(`${header}\na@x,,Acme,5,dark,A\n`)
    expect(faults).to.deep.equal([])
    expect(checked.warnings).to.deep.equal([
      'rows: some columns are in another case. chatctl reads "Email" as "email", "ID" as "id", "METADATA.Company" as "metadata.Company", "Metadata.Seats:=" as "metadata.Seats:=", "Settings.Theme" as "settings.theme"',
    ])
  })

  it('finds no duplicate of an invalid row, which is not sent', async () => {
    const { checked, faults } = await check(
      'email,password,permissions\na@x,,read\na@x,,read:chat\nb@x,,read:chat\nb@x,,read\nA@x,,\n',
    )
    expect(faults).to.deep.equal([
      '2:6 permission "read" must have the form <action>:<resource>, such as read:chat',
      '5:1 email is already used on line 4',
      '5:6 permission "read" must have the form <action>:<resource>, such as read:chat',
      '6:1 email is already used on line 3',
    ])
    expect(checked.valid).to.have.length(2)
  })

  it('names the first line that has an email', async () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'é'), minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 30 }), async (names) => {
        const { faults } = await check(`email\n${names.map((one) => `${one}@x\n`).join('')}`)
        const keys = names.map((one) => one.toLowerCase())
        const expected = keys.flatMap((key, index) => {
          const first = keys.indexOf(key)
          return first === index ? [] : [`${index + 2}:1 email is already used on line ${first + 2}`]
        })
        expect(faults).to.deep.equal(expected)
      }),
    )
  })

  it('finds duplicates in a large file', async () => {
    const half = Array.from({ length: 4_000 }, (_, index) => `u${index}@x\n`).join('')
    const { checked, faults } = await check(`email\n${half}bad\n${half}`)
    expect(checked.valid).to.have.length(4_000)
    expect(faults.length).to.equal(4_001)
    expect(faults.slice(0, 2)).to.deep.equal([
      '4002:1 "bad" is not a valid email address',
      '4003:1 email is already used on line 2',
    ])
    expect(faults.at(-1)).to.equal('8002:1 email is already used on line 4001')
  })

  it('distinguishes an email and an ID with the same text', async () =>
    expect((await check('id,email,name\na@x,,n\n,a@x,\n')).faults).to.deep.equal([]))
})
