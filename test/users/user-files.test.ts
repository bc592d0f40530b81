import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { canonicalJson, parseJson } from '../../src/contract/notation/exact-json.ts'
import { yamlWriting } from '../../src/contract/notation/yaml-scalars.ts'
import type { RunFiles } from '../../src/run/run.ts'
import { type PlacedUser, UserFiles, type UserFilesOptions } from '../../src/users/user-files.ts'
import { failureOf } from '../bulk/input/text-input.ts'
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
