import { createHash } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import type { RowFault } from '../../src/bulk/input/input-row.ts'
import { Failure } from '../../src/contract/failure.ts'
import { hashOfField, isSameField, managedFields } from '../../src/contract/managed-fields.ts'
import { canonicalJson, parseJson } from '../../src/contract/notation/exact-json.ts'
import { yamlWriting } from '../../src/contract/notation/yaml-scalars.ts'
import type { User } from '../../src/contract/resources/user.ts'
import type { RunFiles } from '../../src/run/run.ts'
import { composePlan } from '../../src/system/files/saved-plan.ts'
import { type UsersPlan, UsersPlanBuilder } from '../../src/users/apply/users-plan.ts'
import { compareUser } from '../../src/users/compare-user.ts'
import { readField, userOf, type WantedUser } from '../../src/users/managed-fields.ts'
import { type CheckedInput, checkInput } from '../../src/users/rows/check-input.ts'
import { type PlacedUser, UserFiles, type UserFilesOptions } from '../../src/users/user-files.ts'
import { readUsersPlan, saveUsersPlan, usersPlan } from '../../src/users/users-plan-file.ts'
import { describeFault, failureOf, textInput } from '../bulk/input/text-input.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { anyEntry, anyServiceUser, anyWantedUser, hashesOf, noUsers } from './any-users.ts'

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
            canonicalJson(given.map((user) => withoutEmpty(user, 'settings'))),
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
    const text = '- &ada\n  email: ada@example.com\n  metadata: { team: a }\n- <<: *ada\n  email: bob@x\n'
    const metadata = { team: 'a' }
    const expected = [
      { email: 'ada@example.com', metadata },
      { email: 'bob@x', metadata },
    ]
    expect((await read({ 'users.yaml': text })).map(({ user }) => user)).to.deep.equal(expected)
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
      const { message, hint } = await failureFor(files)
      expect(message).to.match(
        /^a\.\w+:1:\d+: password is not allowed: a file of managed users contains no sec/m,
      )
      expect(message).not.to.include('hunter2')
      expect(hint).to.equal('Remove it. users apply generates the passwords of new users.')
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
    for (const [name, text, message] of [
      ['a.yaml', 'user:\n  - email: ada@example.com\n', 'a.yaml:1:1: expected a list of users'],
      ['a.yaml', 'users: none\n', 'a.yaml:1:8: expected a list of users'],
      ['a.csv', 'name\nAda\n', 'a.csv:1:1: missing column: email is required'],
      ['a.csv', 'email\n', 'a.csv contains no managed users'],
    ] as const)
      expect(await failureFor({ [name]: text })).to.have.property('message', message)
  })

  it('cannot both come from stdin', async () => {
    const opening = UserFiles.open({} as RunFiles, ['-', '-'], {} as UserFilesOptions)
    expect((await failureOf(() => opening)).kind).to.equal('usage')
  })
})

/** The reader omits settings without a key. */
function withoutEmpty(user: Partial<WantedUser>, name: 'metadata' | 'settings'): Partial<WantedUser> {
  const { [name]: inner, ...rest } = user
  return { ...rest, ...(inner && Object.keys(inner).length > 0 && { [name]: inner }) }
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

  it('distinguishes an email and an ID with the same text', async () =>
    expect((await check('id,email,name\na@x,,n\n,a@x,\n')).faults).to.deep.equal([]))
})

const email = 'ada@example.com'

describe('the managed fields of a user', () => {
  it('can be turned back into the user', () =>
    fc.assert(
      fc.property(anyWantedUser, ({ email: _, ...wanted }) => {
        const kept = withoutEmpty(withoutEmpty(wanted, 'settings'), 'metadata')
        const fields = [...managedFields(kept)]
        expect(JSON.stringify(fields)).to.equal(JSON.stringify([...managedFields(wanted)]))
        expect(userOf(managedFields({ ...wanted }))).to.deep.equal(kept)
      }),
    ))

  it('have equal hashes if and only if the values are equal', () =>
    fc.assert(
      fc.property(anyWantedUser, anyWantedUser, (one, other) => {
        const others = managedFields(other)
        for (const [path, value] of managedFields(one)) {
          if (!others.has(path)) continue
          const isSame = hashOfField(path, value) === hashOfField(path, others.get(path))
          expect(isSame).to.equal(isSameField(path, value, others.get(path)))
        }
      }),
    ))

  it('have hashes that never change, because state files contain them', () => {
    expect(hashOfField('name', 'Ada')).to.equal('o5r-7X0zGSE')
    const shown = hashOfField('permissions', ['write:chat', 'read:chat', 'read:chat'])
    expect(shown).to.equal(hashOfField('permissions', ['read:chat', 'write:chat']))
  })
})

describe('the comparison of a user', () => {
  it('finds no difference after its changes were applied', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        const { fields } = compareUser(wanted, entry, { user })
        const after = applied(user, new Map(fields.map(({ path, to }) => [path, to])))
        const sent = { ...entry, hashes: { ...entry.hashes, ...hashesOf(wanted) } }
        expect(compareUser(wanted, sent, { user: after })).to.include({ action: 'none' })
        expect(compareUser(wanted, sent, 'unread')).to.include({ action: 'unread' })
      }),
    ))

  it('reports a field as drifted only if the known hash differs from both values', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        for (const { path, from, to, basis, drifted } of compareUser(wanted, entry, { user }).fields) {
          const hash = entry.hashes[path]
          const isOther = hash !== undefined && hash !== hashOfField(path, from)
          expect(drifted).to.equal(isOther && basis === 'service' && !isSameField(path, from, to))
        }
      }),
    ))

  it('contains every readable field whose value on the service is another one', () =>
    fc.assert(
      fc.property(anyWantedUser, anyEntry, anyServiceUser, (wanted, entry, user) => {
        const found = compareUser(wanted, entry, { user }).fields.map(({ path }) => path)
        for (const [path, value] of managedFields(wanted)) {
          if (path === 'role' || path === 'permissions') continue
          expect(found.includes(path)).to.equal(!isSameField(path, value, readField(user, path)))
        }
      }),
    ))

  it('ignores the order and repetition of permissions', () => {
    const entry = { id: 'usr_1', hashes: hashesOf({ email, permissions: ['a:b', 'c:d'] }) }
    const wanted = { email, permissions: ['c:d', 'a:b', 'c:d'] }
    expect(compareUser(wanted, entry, { user: {} }).action).to.equal('none')
    expect(compareUser({ email, permissions: ['c:d'] }, entry, { user: {} }).fields).to.deep.equal([
      { path: 'permissions', from: undefined, to: ['c:d'], basis: 'last_sent', drifted: false },
    ])
  })

  it('does not guess the value of a role of which nothing is known', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const user = { role: 'admin', permissions: ['a:b'] }
    expect(compareUser({ email, role: 'admin' }, entry, { user }).fields).to.deep.equal([
      { path: 'role', from: undefined, to: 'admin', basis: 'unknown', drifted: false },
    ])
  })

  it('treats null as no value, because a service may remove a key that is set to null', () => {
    const entry = { id: 'usr_1', hashes: hashesOf({ email, metadata: { team: null } }) }
    const wanted = { email, metadata: { team: null } }
    expect(compareUser(wanted, entry, { user: {} }).action).to.equal('none')
    expect(compareUser(wanted, entry, { user: { metadata: { team: 'x' } } }).fields).to.deep.equal([
      { path: 'metadata.team', from: 'x', to: null, basis: 'service', drifted: true },
    ])
  })

  it('creates a user that is not in the state, with all fields', () => {
    const difference = compareUser({ email, name: 'Ada', role: 'admin' }, undefined, 'unread')
    expect(difference).to.include({ action: 'create', id: undefined })
    expect(difference.fields.map(({ path }) => path)).to.deep.equal(['name', 'role'])
  })

  it('never creates a user whose creation has an unknown outcome', () => {
    const wanted = { email, name: 'Ada' }
    const unknown = { id: undefined, creation: 'unknown' as const, hashes: {} }
    expect(compareUser(wanted, unknown, 'unread').action).to.equal('unknown')
    expect(compareUser(wanted, { ...unknown, creation: 'nameless' }, 'unread').action).to.equal('unknown')
    expect(compareUser(wanted, { id: undefined, hashes: {} }, 'missing').action).to.equal('unknown')
  })

  it('reports the user behind an id as missing, or as failed if it could not be read', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const error = new Failure('server_error', 'down')
    expect(compareUser({ email, name: 'Ada' }, entry, 'missing')).to.include({ action: 'missing' })
    const failed = compareUser({ email, name: 'Ada' }, entry, { failure: error })
    expect(failed).to.include({ action: 'failed', error })
  })

  it('refuses to compare a user with another email', () => {
    const entry = { id: 'usr_1', hashes: {} }
    const other = compareUser({ email, name: 'Ada' }, entry, { user: { email: 'eve@example.com' } })
    expect(other).to.include({ action: 'failed' })
    expect(other.error?.message).to.equal(
      'The user "usr_1" has the email "eve@example.com" on the service, not "ada@example.com"',
    )
  })
})

/** The user after a service has set each field. */
function applied(user: User, changes: ReadonlyMap<string, unknown>): User {
  const { metadata = {}, settings = {}, ...rest } = userOf(changes)
  return {
    ...user,
    ...rest,
    metadata: Object.fromEntries([...Object.entries(user.metadata ?? {}), ...Object.entries(metadata)]),
    settings: { ...user.settings, ...settings },
  }
}

const header = {
  id: '0c7b3c9e-3f0b-4a52-9d60-d2cbe1a3f6a1',
  created_at: '2026-01-02T03:04:05Z',
  tool: '1.2.3',
  service: 'https://chat.example',
  state: 'users.state.json',
  serial: 7,
}

const anyPlan = fc
  .array(fc.tuple(anyWantedUser, fc.option(anyEntry, { nil: undefined }), anyServiceUser, fc.boolean()), {
    maxLength: 4,
  })
  .map((users) => {
    const building = new UsersPlanBuilder({ recreateMissing: false, retryUnknown: false })
    for (const [wanted, entry, user, isRecorded] of users) {
      building.add({
        wanted,
        difference: compareUser(wanted, entry && { ...entry, ...(isRecorded && { ids: [] }) }, { user }),
      })
    }
    return building.finish([{ email: 'old@example.com', id: 'usr_9' }])
  })

describe('a saved plan of users', () => {
  const directory = perTest(makeEmptyDirectory)
  const read = async (text: string) =>
    readUsersPlan({ ...textInput('jsonl', text), name: 'users.plan' }, '1.2.3')

  it('contains everything that applying it needs', () =>
    fc.assert(
      fc.asyncProperty(anyPlan, async (plan) => {
        const path = join(directory.path, 'users.plan')
        await saveUsersPlan(path, header, plan)
        const { users, unmanaged, counts, header: kept } = await read(readFileSync(path, 'utf8'))
        expect(kept).to.deep.equal(header)
        expect(contentOf({ users, unmanaged, counts })).to.equal(contentOf(plan))
      }),
    ))

  it('is private, and replaces another plan, but no other file', async () => {
    const path = join(directory.path, 'users.plan')
    const empty = { users: [], unmanaged: [], counts: noUsers }
    await saveUsersPlan(path, header, empty)
    await saveUsersPlan(path, header, empty)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    writeFileSync(path, '{"format":"notes"}')
    expect(await failureOf(() => saveUsersPlan(path, header, empty))).to.include({ kind: 'refused' })
    expect(readFileSync(path, 'utf8')).to.equal('{"format":"notes"}')
  })

  it('is refused if any byte was changed, or its end is missing', async () => {
    const path = join(directory.path, 'users.plan')
    const building = new UsersPlanBuilder({ recreateMissing: false, retryUnknown: false })
    const wanted = { email: 'ada@example.com', name: 'Ada', role: 'admin' }
    building.add({ wanted, difference: compareUser(wanted, undefined, 'unread') })
    await saveUsersPlan(path, header, building.finish([]))
    const text = readFileSync(path, 'utf8')
    await read(text)
    await fc.assert(
      fc.asyncProperty(fc.nat(text.length - 2), fc.boolean(), async (at, isCut) => {
        const other = text.charAt(at) === 'x' ? 'y' : 'x'
        const changed = isCut ? text.slice(0, at) : text.slice(0, at) + other + text.slice(at + 1)
        expect((await failureOf(() => read(changed))).kind).to.be.oneOf(['refused', 'conflict'])
      }),
    )
  })

  it('is refused in another format', async () => {
    const text = composePlan(usersPlan, { ...header, tool: '9.0.0', ...{ v: 2 } })
    const { kind, message } = await failureOf(() => read(text))
    expect(kind).to.equal('conflict')
    expect(message).to.equal('The plan users.plan was made by chatctl 9.0.0, but this is chatctl 1.2.3')
  })
})

/** A metadata object without a key has no field. */
function contentOf({ users, unmanaged, counts }: Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>): string {
  const fields = users.map(({ wanted, difference }) => [[...managedFields(wanted)], wanted.email, difference])
  return JSON.stringify({ fields, unmanaged, counts })
}
