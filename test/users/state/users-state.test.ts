import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
import { readStateFile, writeStateFile } from '../../../src/users/state/state-file.ts'
import {
  defaultStateName,
  type StateOptions,
  stateNameFor,
  UsersState,
} from '../../../src/users/state/users-state.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { rejectedFailure } from '../../support/thrown-failure.ts'
import { failing } from '../../system/failing.ts'
import { replacingCalls } from '../../system/replacing-calls.ts'

const service = 'https://chat.example/'
const directory = perTest(makeEmptyDirectory)
let path: string
let journal: string
let backup: string

beforeEach(() => {
  path = join(directory.path, 'users.state.json')
  journal = `${path}.journal`
  backup = `${path}.backup`
})

const open = (options: Partial<StateOptions> = {}): Promise<UsersState> =>
  UsersState.open(path, { service, access: 'write', name: 'users.state.json', ...options })

/** Opens the state, and writes the next generation. */
const reopen = async () => (await open()).close()

function user(name: string, more: Partial<StateEntry> = {}): StateEntry {
  return { email: `${name}@example.com`, id: `usr_${name}`, hashes: {}, ...more }
}

/** Writes a generation with these entries. */
async function write(...entries: StateEntry[]): Promise<void> {
  const state = await open()
  for (const entry of entries) state.note(entry)
  await state.close()
}

/** Opens the state, and changes it. @returns the state, and the journal of a process that is then killed */
async function change(act: (state: UsersState) => unknown) {
  const state = await open()
  await act(state)
  await endOfTurn()
  return { state, left: readFileSync(journal) }
}

const text = (): string => readFileSync(path, 'utf8')
const files = (): string[] => readdirSync(directory.path).sort()

async function readEntries(): Promise<StateEntry[]> {
  const state = await open({ access: 'read' })
  const entries = [...state.entries()]
  await state.close()
  return entries
}
const readIds = async () => (await readEntries()).map(({ id }) => id)

describe('the state of users', () => {
  it('is a file with one user per line, sorted by email without case', async () => {
    await write(user('bob'), user('Ada', { hashes: { role: 'AAAAAAAAAAA', name: 'BBBBBBBBBBB' } }))
    expect(text().split('\n')).to.deep.equal([
      '{"format":"chatctl-users-state","v":1,"service":"https://chat.example/","serial":1,"users":[',
      '{"email":"Ada@example.com","id":"usr_Ada","hashes":{"name":"BBBBBBBBBBB","role":"AAAAAAAAAAA"}},',
      '{"email":"bob@example.com","id":"usr_bob","hashes":{}}',
      ']}',
      '',
    ])
  })

  it('is not begun again if only its backup is left', async () => {
    writeFileSync(backup, '')
    const { kind, message } = await rejectedFailure(open)
    expect(kind).to.equal('refused')
    expect(message).to.match(/users\.state\.json does not exist, but its backup .*\.backup does$/)
  })

  it('leaves no other file after the first generation, and a backup after the second', async () => {
    await write(user('ada'))
    const first = text()
    expect(files()).to.deep.equal(['users.state.json'])
    await write(user('bob'))
    expect(files()).to.deep.equal(['users.state.json', 'users.state.json.backup'])
    expect(readFileSync(backup, 'utf8')).to.equal(first)
  })

  it('writes no generation if nothing has changed in the end', async () => {
    const ada = user('ada', { hashes: { name: 'AAAAAAAAAAA' } })
    await write(ada)
    const before = text()
    const state = await open()
    expect(state.serial).to.equal(1)
    await state.record(user('ada'))
    state.note(ada)
    state.note(user('bob'))
    state.remove('bob@example.com')
    await state.close()
    expect(text()).to.equal(before)
    expect(files()).to.deep.equal(['users.state.json'])
  })

  it('creates no file if nothing is recorded', async () => {
    const state = await open()
    expect(state.exists).to.equal(false)
    await state.close()
    expect(files()).to.deep.equal([])
  })

  it('has mode 0600 if it is new, and otherwise keeps its mode', async () => {
    await write(user('ada'))
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    chmodSync(path, 0o644)
    await write(user('bob'))
    expect(statSync(path).mode & 0o777).to.equal(0o644)
  })

  it('finds users by email without case, and by id', async () => {
    await write(user('ada'), user('bob'))
    const state = await open({ access: 'read' })
    expect(state.exists).to.equal(true)
    expect(state.find('ADA@example.com')?.id).to.equal('usr_ada')
    expect(state.findById('usr_bob')?.email).to.equal('bob@example.com')
    expect(state.find('eve@example.com')).to.equal(undefined)
    await state.close()
  })

  it('is written to the target of a symbolic link, which need not exist yet', async () => {
    const target = path
    path = join(directory.path, 'link.json')
    symlinkSync('users.state.json', path)
    await write(user('ada'))
    await write(user('bob'))
    expect(lstatSync(path).isSymbolicLink()).to.equal(true)
    path = target
    expect(await readIds()).to.deep.equal(['usr_ada', 'usr_bob'])
  })
})

describe('the journal of a state', () => {
  beforeEach(() => write(user('ada')))

  it('is on disk before `record` resolves, and readers see it', async () => {
    const unknown = { email: 'bob@example.com', creation: 'unknown', hashes: {} } as const
    const state = await open()
    await state.record({ ...unknown, id: undefined })
    expect(readFileSync(journal, 'utf8')).to.contain('"creation":"unknown"')
    expect(await readEntries()).to.deep.include(unknown)
    await state.close()
  })

  it('is not missed by a reader while its process writes the next generation', async () => {
    const { state, left } = await change((state) => state.note(user('bob')))
    await state.close()
    const next = readFileSync(path)
    copyFileSync(backup, path)
    writeFileSync(journal, left)
    // The writer ends just before the reader opens the journal.
    const real = fs.readFileSync
    const read = (...args: Parameters<typeof real>) => {
      if (args[0] === journal && existsSync(args[0])) {
        rmSync(path)
        writeFileSync(path, next)
        rmSync(args[0])
      }
      return real(...args)
    }
    const entries = await replacingCalls({ readFileSync: read }, readEntries)
    expect(entries).to.deep.equal([user('ada'), user('bob')])
  })

  it('is named if a reader cannot read it', async () => {
    mkdirSync(journal)
    const message = 'Cannot read users.state.json.journal: it is a directory (EISDIR)'
    expect(await rejectedFailure(readEntries)).to.include({ kind: 'storage', message })
  })

  it('changes nothing if the process was killed after it had written the next generation', async () => {
    const { state, left } = await change(async (state) => {
      await state.record(user('ada'))
      state.note(user('ada', { hashes: { name: 'CCCCCCCCCCC' } }))
      state.note(user('bob'))
    })
    await state.close()
    const written = text()
    writeFileSync(journal, left)
    await reopen()
    expect(text()).to.equal(written)
  })

  it('keeps every user, but only agreeing hashes, if the state file was replaced', async () => {
    await write(user('ada', { hashes: { name: 'AAAAAAAAAAA', role: 'RRRRRRRRRRR' } }), user('carl'))
    const { state, left } = await change((state) => {
      state.note(user('ada', { hashes: { name: 'CCCCCCCCCCC', role: 'RRRRRRRRRRR' } }))
      state.note(user('bob', { hashes: { name: 'BBBBBBBBBBB' } }))
      state.remove('carl@example.com')
    })
    await state.close()
    await write(user('dora'), user('carl'))
    writeFileSync(path, text().replace('"name":"CCCCCCCCCCC"', '"name":"DDDDDDDDDDD"'))
    writeFileSync(journal, left)
    await reopen()
    expect(await readEntries()).to.deep.equal([
      user('ada', { hashes: { role: 'RRRRRRRRRRR' } }),
      user('bob', { hashes: { name: 'BBBBBBBBBBB' } }),
      user('carl'),
      user('dora'),
    ])
  })

  it('is combined at the end with a file that replaced its own', async () => {
    const { state } = await change((state) => state.note(user('bob')))
    const ofOtherBranch = text().replace('"serial":1', '"serial":7').replaceAll('ada', 'carl')
    writeFileSync(path, ofOtherBranch)
    await state.close()
    expect(await readEntries()).to.deep.equal([user('bob'), user('carl')])
    expect(files()).to.deep.equal(['users.state.json', 'users.state.json.backup'])
    expect(readFileSync(backup, 'utf8')).to.equal(ofOtherBranch)
  })

  it('keeps its journal if a file with conflicts replaced its own', async () => {
    const { state } = await change((state) => state.note(user('bob')))
    const before = text()
    writeFileSync(path, `<<<<<<< ours\n${before}`)
    const { message, hint } = await rejectedFailure(() => state.close())
    expect(message).to.include('users.state.json')
    expect(hint).to.include('No change is lost')
    writeFileSync(path, before)
    await reopen()
    expect(await readEntries()).to.deep.equal([user('ada'), user('bob')])
  })

  it('remains if the next generation cannot be written', async () => {
    const { state } = await change((state) => state.note(user('bob')))
    mkdirSync(backup)
    const { kind, message, hint } = await rejectedFailure(() => state.close())
    expect(kind).to.equal('storage')
    expect(message).to.match(/^Cannot write users\.state\.json: /)
    expect(hint).to.match(/^No change is lost: /)
    rmdirSync(backup)
    await reopen()
    expect(await readIds()).to.deep.equal(['usr_ada', 'usr_bob'])
  })

  it('is not called safe if it could not be flushed to disk', async () => {
    const state = await open()
    await failing.flush(() => rejectedFailure(() => state.record(user('bob'))))
    const again = await rejectedFailure(() => state.record(user('carl')))
    expect(again.message).to.match(/^Cannot write users\.state\.json\.journal: .*\(ENOSPC\)/)
    state.note(user('dora'))
    mkdirSync(backup)
    const failure = await rejectedFailure(() => state.close())
    expect(failure.hint).to.contain('the changes of this run may be lost')
    rmdirSync(backup)
    await reopen()
    expect(await readIds()).to.deep.equal(['usr_ada', 'usr_dora'])
  })

  it('is refused with its line if it is not what chatctl writes', async () => {
    const { state, left } = await change((state) => state.note(user('bob')))
    await state.close()
    writeFileSync(journal, `${left}{"email":7}\n`)
    for (const access of ['read', 'write'] as const) {
      const { kind, message, hint } = await rejectedFailure(() => open({ access }))
      expect(kind).to.equal('refused')
      expect(message).to.contain('users.state.json.journal:3: email must be a string')
      expect(hint).to.contain('the changes of an interrupted run')
    }
    writeFileSync(journal, String(left).replace(service, 'https://other.example/'))
    expect((await rejectedFailure(open)).kind).to.equal('conflict')
    expect(files()).to.include('users.state.json.journal').and.not.include('users.state.json.lock')
  })
})

describe('the lock of a state', () => {
  it('lets one process write, and others read', async () => {
    await write(user('ada'))
    const state = await open()
    const message = 'Another chatctl process is using users.state.json'
    expect(await rejectedFailure(open)).to.include({ kind: 'conflict', message })
    expect(await readEntries()).to.have.length(1)
    await state.close()
    await reopen()
    expect(files()).to.deep.equal(['users.state.json'])
  })

  it('is released if the file is invalid', async () => {
    writeFileSync(path, '{}')
    await rejectedFailure(open)
    expect(files()).to.deep.equal(['users.state.json'])
  })

  it('fails immediately in a directory that does not exist', async () => {
    path = join(directory.path, 'missing', 'users.state.json')
    const { kind, message } = await rejectedFailure(open)
    expect(kind).to.equal('storage')
    expect(message).to.match(/^Cannot write users\.state\.json: .*ENOENT/)
  })
})

describe('the default name of a state file', () => {
  it('is derived from the name of the file, in the same directory, and users.state.json for stdin', () => {
    expect(['users.yaml', 'config/team.users.csv', 'staff', '-'].map(stateNameFor)).to.deep.equal(
      'users.state.json config/team.users.state.json staff.state.json users.state.json'.split(' '),
    )
    expect(defaultStateName).to.equal('users.state.json')
  })
})

/** Few names, so that emails and ids meet again, also in another case. */
const emails = fc.constantFrom(...'ada@x Ada@x bob@x BOB@x \u00e9@x zoe@x 日本@x "\\\u2028@x'.split(' '))
const ids = fc.constantFrom('usr_1', 'usr_2', 'usr_3', 'usr_4', 'id/5 ✓')
const hash = fc.constantFrom('AAAAAAAAAAA', 'BBBBBBBBBBB', '-_012345678')
const fields = 'name role permissions metadata.company metadata.__proto__ metadata.a.b'
const field = fc.constantFrom(...fields.split(' '))

const stateEntry: fc.Arbitrary<StateEntry> = fc
  .record({
    email: emails,
    id: fc.option(ids, { nil: undefined }),
    creation: fc.constantFrom('unknown' as const, 'nameless' as const),
    hashes: fc.dictionary(field, hash),
    checkedAt: fc.constantFrom(undefined, '2026-01-02T03:04:05.678Z'),
  })
  .map(({ creation, checkedAt, ...entry }) => ({
    ...entry,
    ...(entry.id === undefined && { creation }),
    ...(checkedAt !== undefined && { checkedAt }),
  }))

/** Entries as a state file has them: sorted, and each email and id once. */
const stateEntries: fc.Arbitrary<StateEntry[]> = fc
  .uniqueArray(
    fc.record({
      email: fc.emailAddress(),
      id: fc.string({ minLength: 1 }),
      hashes: fc.dictionary(field, hash),
    }),
    { selector: ({ email }) => email.toLowerCase() },
  )
  .map((entries) => entries.map((entry, index) => ({ ...entry, id: `${index}:${entry.id}` })))
  .map((entries) => entries.sort((one, other) => (one.email < other.email ? -1 : 1)))

/** Ten users, on the lines 2 to 11. */
const ten: readonly StateEntry[] = Array.from({ length: 10 }, (_, index) => ({
  email: `user-${index}@example.com`,
  id: `usr_${index}`,
  hashes: { name: 'AAAAAAAAAAA' },
}))

async function writeTen(): Promise<string> {
  await writeStateFile({ path, name: path }, { service, serial: 7 }, ten)
  return text()
}

/** Opens a state file with this text, and returns its users. */
async function read(given: string): Promise<StateEntry[]> {
  writeFileSync(path, given)
  const entries = await readEntries()
  await reopen()
  expect(text(), 'the file after reading').to.equal(given)
  return entries
}

async function failureOf(given: string | Uint8Array) {
  writeFileSync(path, given)
  const failure = await rejectedFailure(open)
  expect(readFileSync(path)).to.deep.equal(Buffer.from(given))
  return failure
}

/** The text with one line replaced. */
const withLine = (text: string, line: number, replace: (content: string) => string): string =>
  text
    .split('\n')
    .map((content, index) => (index === line - 1 ? replace(content) : content))
    .join('\n')

describe('a state file', () => {
  it('is the same after it was read and written again', () =>
    fc.assert(
      fc.asyncProperty(stateEntries, fc.nat(), async (entries, serial) => {
        await writeStateFile({ path, name: path }, { service, serial }, entries)
        const written = text()
        const read = readStateFile({ path, name: path })
        await writeStateFile({ path, name: path }, read.header, read.entries.sorted())
        expect(text()).to.equal(written)
      }),
      { numRuns: 30 },
    ))

  it('is read in every format that a JSON formatter may give it', async () => {
    const whole = await writeTen()
    const value: unknown = JSON.parse(whole)
    for (const other of [
      JSON.stringify(value),
      JSON.stringify(value, null, 2),
      JSON.stringify(value, null, '\t').replaceAll('\n', '\r\n'),
      whole.replaceAll('\n', '\r\n'),
      `\ufeff${whole}`,
      whole.trimEnd(),
    ])
      expect(await read(other)).to.deep.equal(ten)
  })

  it('is read with any order of the lines and any commas between them', async () => {
    const [head = '', ...rest] = (await writeTen()).trimEnd().split('\n')
    const users = rest.slice(0, -1).map((line) => line.replace(/,$/, ''))
    expect(await read([head, ...users.reverse(), ']}', ''].join('\n'))).to.deep.equal(ten)
    expect(await read([head, '', ...users.map((line) => `${line},`), ']}', ''].join('\n'))).to.deep.equal(ten)
  })

  it('that is truncated anywhere is refused with its line and its backup', async () => {
    const whole = await writeTen()
    writeFileSync(backup, whole)
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.lastIndexOf('\n') - 1), async (length) => {
        const { kind, message, hint } = await failureOf(whole.slice(0, length))
        expect(kind).to.equal('refused')
        expect(message).to.match(/^users\.state\.json:\d+: the file is truncated$/)
        expect(hint).to.equal('The previous generation is in users.state.json.backup')
      }),
      { numRuns: 100 },
    )
  })

  const format = (text: string) => JSON.stringify(JSON.parse(text), null, 2)
  const put = (old: string, other: string) => (text: string) => text.replace(old, other)
  const putOn = (line: number, old: string, other: string) => (text: string) =>
    withLine(text, line, put(old, other))
  const shapes: Record<string, [change: (text: string) => string, message: string, kind?: string]> = {
    'has conflict markers': [
      (text) => withLine(text, 4, (line) => `<<<<<<< HEAD\n${line}\n=======\n${line}\n>>>>>>> other`),
      ':4: a merge conflict is not resolved',
    ],
    'is formatted and has conflict markers': [
      (text) => format(text).replace('    {', '<<<<<<< HEAD\n    {'),
      ':7: a merge conflict is not resolved',
    ],
    'is empty': [() => '', ':1: the file is truncated'],
    'is of a newer version': [
      put('"v":1', '"v":2'),
      ' was written by another version of chatctl (format 2; this version reads format 1)',
      'conflict',
    ],
    'is for another service': [
      put(service, 'https://other.example/'),
      ' is for https://other.example/, not for https://chat.example/',
      'conflict',
    ],
    'has one email twice': [putOn(5, 'user-3', 'USER-1'), ':5: "USER-1@example.com" is also on line 3'],
    'has one id twice': [putOn(9, 'usr_7', 'usr_2'), ':9: the id "usr_2" is also on line 4'],
    'has an email that is not text': [put('"user-1@example.com"', '7'), ':3: email must be a string'],
    'has no id': [put('"id":"usr_1",', ''), ':3: id is missing'],
    'has an unknown field': [putOn(3, '"id"', '"note":"x","id"'), ':3: note is not a known field'],
    'has a line that is not JSON': [putOn(3, '{', 'hello{'), ':3: not valid JSON at column 1'],
    'is formatted and has a fault': [
      (text) => put('"id": "usr_0"', '"id": usr_0')(format(text)),
      ':9: not valid JSON at column 13',
    ],
    'has text after its end': [(text) => `${text}{}\n`, ':13: not valid JSON at column 1'],
    'has a serial that is not a number': [put('"serial":7', '"serial":"7"'), ':1: serial is invalid'],
    'has another format': [() => '{"version":4,"resources":[]}', ' is not a state file of users'],
  }
  for (const [shape, [change, message, kind = 'refused']] of Object.entries(shapes))
    it(`that ${shape} is refused and not changed`, async () => {
      const failure = await failureOf(change(await writeTen()))
      expect([failure.kind, failure.message]).to.deep.equal([kind, `users.state.json${message}`])
    })

  it('that is not UTF-8 is refused', async () => {
    const bytes = Buffer.from(await writeTen())
    bytes[bytes.indexOf('user-4')] = 0xff
    expect((await failureOf(bytes)).message).to.equal('users.state.json is not UTF-8 text')
  })

  it('that is a directory is refused', async () => {
    mkdirSync(path)
    const { message } = await rejectedFailure(open)
    expect(message).to.equal('Cannot read users.state.json: it is not a regular file')
  })
})

type Change = StateEntry | { removed: string }

/** The changes of one process. `killedAt`: how many thousandths of its lines are on disk. */
const processes = fc.array(
  fc.record({
    changes: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: stateEntry },
        { weight: 1, arbitrary: stateEntry.map(({ email }) => ({ removed: email })) },
      ),
      { maxLength: 12 },
    ),
    killedAt: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  }),
  { maxLength: 5 },
)

/** What a state does, as simply as possible. */
function applyTo(model: Map<string, StateEntry>, change: Change): void {
  if ('removed' in change) {
    model.delete(change.removed.toLowerCase())
    return
  }
  for (const [key, { id }] of model) if (id !== undefined && id === change.id) model.delete(key)
  model.set(change.email.toLowerCase(), change)
}

const contentOf = (path: string): Buffer | undefined => (existsSync(path) ? readFileSync(path) : undefined)

function restore(path: string, content: Buffer | undefined): void {
  if (content === undefined) rmSync(path, { force: true })
  else writeFileSync(path, content)
}

describe('the state of users after processes that were killed', () => {
  it('has every change whose line was complete', async () => {
    await fc.assert(
      fc.asyncProperty(processes, async (runs) => {
        for (const file of [path, journal, backup]) rmSync(file, { force: true })
        const model = new Map<string, StateEntry>()
        for (const { changes, killedAt } of runs) {
          const before = contentOf(path)
          const state = await open()
          const kept = statSync(journal, { throwIfNoEntry: false })?.size ?? 0
          const ends: number[] = []
          for (const change of changes) {
            if ('removed' in change) state.remove(change.removed)
            else state.note(change)
            // The lines of one turn are one write.
            await endOfTurn()
            ends.push(statSync(journal, { throwIfNoEntry: false })?.size ?? 0)
          }
          const lines = contentOf(journal)
          await state.close()
          if (killedAt === undefined || lines === undefined) {
            for (const change of changes) applyTo(model, change)
          } else {
            const cut = kept + Math.floor(((lines.length - kept) * killedAt) / 1000)
            changes.forEach((change, index) => {
              if ((ends[index] ?? 0) <= cut) applyTo(model, change)
            })
            restore(path, before)
            writeFileSync(journal, lines.subarray(0, cut))
          }
          const found = await readEntries()
          const expected = [...model.entries()].sort(([one], [other]) =>
            Buffer.compare(Buffer.from(one), Buffer.from(other)),
          )
          expect(found).to.deep.equal(
            expected.map(([, { id, ...entry }]) => ({ ...entry, ...(id !== undefined && { id }) })),
          )
        }
      }),
      { numRuns: 0.4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })
})
