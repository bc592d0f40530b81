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
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
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

beforeEach(() => {
  path = join(directory.path, 'users.state.json')
})

const open = (options: Partial<StateOptions> = {}): Promise<UsersState> =>
  UsersState.open(path, { service, access: 'write', name: 'users.state.json', ...options })

function user(name: string, more: Partial<StateEntry> = {}): StateEntry {
  return { email: `${name}@example.com`, id: `usr_${name}`, hashes: {}, ...more }
}

/** Writes a generation with these entries. */
async function write(...entries: StateEntry[]): Promise<void> {
  const state = await open()
  for (const entry of entries) state.note(entry)
  await state.close()
}

const text = (): string => readFileSync(path, 'utf8')

const files = (): string[] => readdirSync(directory.path).sort()

async function readEntries(): Promise<StateEntry[]> {
  const state = await open({ access: 'read' })
  try {
    return [...state.entries()]
  } finally {
    await state.close()
  }
}

describe('the state of users', () => {
  it('is a file with one user per line, sorted by email without case', async () => {
    await write(user('bob'), user('Ada', { hashes: { role: 'AAAAAAAAAAA', name: 'BBBBBBBBBBB' } }))
    expect(text()).to.equal(
      [
        '{"format":"chatctl-users-state","v":1,"service":"https://chat.example/","serial":1,"users":[',
        '{"email":"Ada@example.com","id":"usr_Ada","hashes":{"name":"BBBBBBBBBBB","role":"AAAAAAAAAAA"}},',
        '{"email":"bob@example.com","id":"usr_bob","hashes":{}}',
        ']}\n',
      ].join('\n'),
    )
  })

  it('is not begun again if only its backup is left', async () => {
    writeFileSync(`${path}.backup`, '')
    const { kind, message } = await rejectedFailure(() => open())
    expect(kind).to.equal('refused')
    expect(message).to.match(
      /users\.state\.json does not exist, but its backup .*users\.state\.json\.backup does$/,
    )
  })

  it('leaves no other file after the first generation, and a backup after the second', async () => {
    await write(user('ada'))
    const first = text()
    expect(files()).to.deep.equal(['users.state.json'])
    await write(user('bob'))
    expect(files()).to.deep.equal(['users.state.json', 'users.state.json.backup'])
    expect(readFileSync(`${path}.backup`, 'utf8')).to.equal(first)
  })

  it('writes no generation if nothing has changed in the end', async () => {
    await write(user('ada', { hashes: { name: 'AAAAAAAAAAA' } }))
    const before = text()
    const state = await open()
    expect(state.serial).to.equal(1)
    await state.record(user('ada'))
    state.note(user('ada', { hashes: { name: 'AAAAAAAAAAA' } }))
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

  it('follows a symbolic link', async () => {
    await write(user('ada'))
    const target = path
    path = join(directory.path, 'link.json')
    symlinkSync(target, path)
    await write(user('bob'))
    path = target
    expect((await readEntries()).map(({ id }) => id)).to.deep.equal(['usr_ada', 'usr_bob'])
  })

  it('is written to the target of a symbolic link, which need not exist yet', async () => {
    const target = path
    path = join(directory.path, 'link.json')
    symlinkSync('users.state.json', path)
    await write(user('ada'))
    expect(lstatSync(path).isSymbolicLink()).to.equal(true)
    path = target
    expect((await readEntries()).map(({ id }) => id)).to.deep.equal(['usr_ada'])
  })
})

describe('the journal of a state', () => {
  it('is on disk before `record` resolves, and readers see it', async () => {
    await write(user('ada'))
    const state = await open()
    await state.record({ email: 'bob@example.com', id: undefined, creation: 'unknown', hashes: {} })
    expect(readFileSync(`${path}.journal`, 'utf8')).to.contain('"creation":"unknown"')
    expect(await readEntries()).to.deep.include({ email: 'bob@example.com', creation: 'unknown', hashes: {} })
    await state.close()
  })

  it('is not missed by a reader while its process writes the next generation', async () => {
    await write(user('ada'))
    const state = await open()
    state.note(user('bob'))
    await endOfTurn()
    const journal = readFileSync(`${path}.journal`)
    await state.close()
    const next = readFileSync(path)
    copyFileSync(`${path}.backup`, path)
    writeFileSync(`${path}.journal`, journal)
    // The writer ends just before the reader opens the journal.
    const real = fs.readFileSync
    const read = (...args: Parameters<typeof real>) => {
      if (args[0] === `${path}.journal` && existsSync(args[0])) {
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
    await write(user('ada'))
    mkdirSync(`${path}.journal`)
    const { kind, message } = await rejectedFailure(readEntries)
    expect([kind, message]).to.deep.equal([
      ...['storage', 'Cannot read users.state.json.journal: it is a directory (EISDIR)'],
    ])
  })

  it('changes nothing if the process was killed after it had written the next generation', async () => {
    await write(user('ada', { hashes: { name: 'AAAAAAAAAAA' } }))
    const state = await open()
    await state.record(user('ada'))
    state.note(user('ada', { hashes: { name: 'CCCCCCCCCCC' } }))
    state.note(user('bob'))
    await endOfTurn()
    const journal = readFileSync(`${path}.journal`)
    await state.close()
    const written = text()
    writeFileSync(`${path}.journal`, journal)
    await (await open()).close()
    expect(text()).to.equal(written)
  })

  it('keeps every user, but only agreeing hashes, if the state file was replaced', async () => {
    await write(user('ada', { hashes: { name: 'AAAAAAAAAAA', role: 'RRRRRRRRRRR' } }), user('carl'))
    const state = await open()
    state.note(user('ada', { hashes: { name: 'CCCCCCCCCCC', role: 'RRRRRRRRRRR' } }))
    state.note(user('bob', { hashes: { name: 'BBBBBBBBBBB' } }))
    state.remove('carl@example.com')
    await endOfTurn()
    const journal = readFileSync(`${path}.journal`)
    await state.close()
    await write(user('dora'), user('carl'))
    const other = text().replace('"name":"CCCCCCCCCCC"', '"name":"DDDDDDDDDDD"')
    writeFileSync(path, other)
    writeFileSync(`${path}.journal`, journal)
    await (await open()).close()
    expect(await readEntries()).to.deep.equal([
      user('ada', { hashes: { role: 'RRRRRRRRRRR' } }),
      user('bob', { hashes: { name: 'BBBBBBBBBBB' } }),
      user('carl'),
      user('dora'),
    ])
  })

  it('is combined at the end with a file that replaced its own', async () => {
    await write(user('ada'))
    const state = await open()
    state.note(user('bob'))
    const ofOtherBranch = text().replace('"serial":1', '"serial":7').replaceAll('ada', 'carl')
    writeFileSync(path, ofOtherBranch)
    await state.close()
    expect(await readEntries()).to.deep.equal([user('bob'), user('carl')])
    expect(files()).to.deep.equal(['users.state.json', 'users.state.json.backup'])
    expect(readFileSync(`${path}.backup`, 'utf8')).to.equal(ofOtherBranch)
  })

  it('keeps its journal if a file with conflicts replaced its own', async () => {
    await write(user('ada'))
    const state = await open()
    state.note(user('bob'))
    const before = text()
    writeFileSync(path, `<<<<<<< ours\n${before}`)
    const failure = await rejectedFailure(() => state.close())
    expect(failure.message).to.include('users.state.json')
    expect(failure.hint).to.include('No change is lost')
    writeFileSync(path, before)
    await (await open()).close()
    expect(await readEntries()).to.deep.equal([user('ada'), user('bob')])
  })

  it('remains if the next generation cannot be written', async () => {
    await write(user('ada'))
    const state = await open()
    state.note(user('bob'))
    mkdirSync(`${path}.backup`)
    const failure = await rejectedFailure(() => state.close())
    expect(failure.kind).to.equal('storage')
    expect(failure.message).to.match(/^Cannot write users\.state\.json: /)
    expect(failure.hint).to.match(/^No change is lost: /)
    rmdirSync(`${path}.backup`)
    await (await open()).close()
    expect((await readEntries()).map(({ id }) => id)).to.deep.equal(['usr_ada', 'usr_bob'])
  })

  it('is not called safe if it could not be flushed to disk', async () => {
    await write(user('ada'))
    const state = await open()
    await failing.flush(() => rejectedFailure(() => state.record(user('bob'))))
    const again = await rejectedFailure(() => state.record(user('carl')))
    expect(again.message).to.match(/^Cannot write users\.state\.json\.journal: .*\(ENOSPC\)/)
    state.note(user('dora'))
    mkdirSync(`${path}.backup`)
    const failure = await rejectedFailure(() => state.close())
    expect(failure.hint).to.contain('the changes of this run may be lost')
    rmdirSync(`${path}.backup`)
    await (await open()).close()
    expect((await readEntries()).map(({ id }) => id)).to.deep.equal(['usr_ada', 'usr_dora'])
  })

  it('is refused with its line if it is not what chatctl writes', async () => {
    const state = await open()
    state.note(user('ada'))
    await endOfTurn()
    const journal = readFileSync(`${path}.journal`, 'utf8')
    await state.close()
    writeFileSync(`${path}.journal`, `${journal}{"email":7}\n`)
    for (const access of ['read', 'write'] as const) {
      const failure = await rejectedFailure(() => open({ access }))
      expect(failure.kind).to.equal('refused')
      expect(failure.message).to.contain('users.state.json.journal:3: email must be a string')
      expect(failure.hint).to.contain('the changes of an interrupted run')
    }
    writeFileSync(`${path}.journal`, journal.replace(service, 'https://other.example/'))
    expect((await rejectedFailure(open)).kind).to.equal('conflict')
    expect(files()).to.deep.equal(['users.state.json', 'users.state.json.journal'])
  })
})

describe('the lock of a state', () => {
  it('lets one process write, and others read', async () => {
    await write(user('ada'))
    const state = await open()
    const failure = await rejectedFailure(open)
    expect(failure.kind).to.equal('conflict')
    expect(failure.message).to.equal('Another chatctl process is using users.state.json')
    expect(await readEntries()).to.have.length(1)
    await state.close()
    await (await open()).close()
    expect(files()).to.deep.equal(['users.state.json'])
  })

  it('is released if the file is invalid', async () => {
    writeFileSync(path, '{}')
    await rejectedFailure(open)
    expect(files()).to.deep.equal(['users.state.json'])
  })

  it('fails immediately in a directory that does not exist', async () => {
    path = join(directory.path, 'missing', 'users.state.json')
    const failure = await rejectedFailure(open)
    expect(failure.kind).to.equal('storage')
    expect(failure.message).to.match(/^Cannot write users\.state\.json: .*ENOENT/)
  })
})

describe('the default name of a state file', () => {
  it('is derived from the name of the file, in the same directory', () =>
    expect(['users.yaml', 'config/team.users.csv', 'staff'].map(stateNameFor)).to.deep.equal(
      'users.state.json config/team.users.state.json staff.state.json'.split(' '),
    ))

  it('is users.state.json for stdin', () =>
    expect([stateNameFor('-'), defaultStateName]).to.deep.equal(['users.state.json', 'users.state.json']))
})
