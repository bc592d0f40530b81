import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
import { readStateFile, writeStateFile } from '../../../src/users/state/state-file.ts'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { rejectedFailure } from '../../support/thrown-failure.ts'
import { stateEntries } from './arbitrary-entries.ts'

const service = 'https://chat.example/'
const directory = perTest(makeEmptyDirectory)
let path: string

beforeEach(() => {
  path = join(directory.path, 'users.state.json')
})

/** Ten users, on the lines 2 to 11. */
const ten: readonly StateEntry[] = Array.from({ length: 10 }, (_, index) => ({
  email: `user-${index}@example.com`,
  id: `usr_${index}`,
  hashes: { name: 'AAAAAAAAAAA' },
}))

async function writeTen(): Promise<string> {
  await writeStateFile({ path, name: path }, { service, serial: 7 }, ten)
  return readFileSync(path, 'utf8')
}

const open = () => UsersState.open(path, { service, access: 'write', name: 'users.state.json' })

/** Opens a state file with this text, and returns its users. */
async function read(text: string): Promise<StateEntry[]> {
  writeFileSync(path, text)
  const state = await open()
  const entries = [...state.entries()]
  await state.close()
  expect(readFileSync(path, 'utf8'), 'the file after reading').to.equal(text)
  return entries
}

async function failureOf(text: string | Uint8Array) {
  writeFileSync(path, text)
  const failure = await rejectedFailure(open)
  expect(readFileSync(path)).to.deep.equal(Buffer.from(text))
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
        const written = readFileSync(path, 'utf8')
        const read = readStateFile({ path, name: path })
        await writeStateFile({ path, name: path }, read.header, read.entries.sorted())
        expect(readFileSync(path, 'utf8')).to.equal(written)
      }),
      { numRuns: 30 },
    ))

  it('is read in every format that a JSON formatter may give it', async () => {
    const text = await writeTen()
    const value: unknown = JSON.parse(text)
    const formatted = [
      JSON.stringify(value),
      JSON.stringify(value, null, 2),
      JSON.stringify(value, null, '\t').replaceAll('\n', '\r\n'),
      text.replaceAll('\n', '\r\n'),
      `\ufeff${text}`,
      text.trimEnd(),
    ]
    for (const other of formatted) expect(await read(other)).to.deep.equal(ten)
  })

  it('is read with any order of the lines and any commas between them', async () => {
    const [head = '', ...rest] = (await writeTen()).trimEnd().split('\n')
    const users = rest.slice(0, -1).map((line) => line.replace(/,$/, ''))
    expect(await read([head, ...users.reverse(), ']}', ''].join('\n'))).to.deep.equal(ten)
    expect(await read([head, '', ...users.map((line) => `${line},`), ']}', ''].join('\n'))).to.deep.equal(ten)
  })

  it('that is truncated anywhere is refused with its line and its backup', async () => {
    const text = await writeTen()
    writeFileSync(`${path}.backup`, text)
    const long = `${text.slice(0, text.lastIndexOf('\n'))}`
    await fc.assert(
      fc.asyncProperty(fc.nat(long.length - 1), async (length) => {
        const { kind, message, hint } = await failureOf(text.slice(0, length))
        expect(kind).to.equal('refused')
        expect(message).to.match(/^users\.state\.json:\d+: the file is truncated$/)
        expect(hint).to.equal('The previous generation is in users.state.json.backup')
      }),
      { numRuns: 100 },
    )
  })

  const shapes: Record<string, [change: (text: string) => string, message: RegExp, kind?: string]> = {
    'has conflict markers': [
      (text) => withLine(text, 4, (line) => `<<<<<<< HEAD\n${line}\n=======\n${line}\n>>>>>>> other`),
      /^users\.state\.json:4: a merge conflict is not resolved$/,
    ],
    'is formatted and has conflict markers': [
      (text) => JSON.stringify(JSON.parse(text), null, 2).replace('    {', '<<<<<<< HEAD\n    {'),
      /^users\.state\.json:7: a merge conflict is not resolved$/,
    ],
    'is empty': [() => '', /^users\.state\.json:1: the file is truncated$/],
    'is of a newer version': [
      (text) => text.replace('"v":1', '"v":2'),
      /^users\.state\.json was written by another version of chatctl \(format 2; this version reads format 1\)$/,
      'conflict',
    ],
    'is for another service': [
      (text) => text.replace(service, 'https://other.example/'),
      /^users\.state\.json is for https:\/\/other\.example\/, not for https:\/\/chat\.example\/$/,
      'conflict',
    ],
    'has one email twice': [
      (text) => withLine(text, 5, (line) => line.replace('user-3', 'USER-1')),
      /^users\.state\.json:5: "USER-1@example\.com" is also on line 3$/,
    ],
    'has one id twice': [
      (text) => withLine(text, 9, (line) => line.replace('usr_7', 'usr_2')),
      /^users\.state\.json:9: the id "usr_2" is also on line 4$/,
    ],
    'has an email that is not text': [
      (text) => withLine(text, 3, (line) => line.replace('"user-1@example.com"', '7')),
      /^users\.state\.json:3: email must be a string$/,
    ],
    'has no id': [
      (text) => withLine(text, 3, (line) => line.replace('"id":"usr_1",', '')),
      /^users\.state\.json:3: id is missing$/,
    ],
    'has an unknown field': [
      (text) => withLine(text, 3, (line) => line.replace('"id"', '"note":"x","id"')),
      /^users\.state\.json:3: note is not a known field$/,
    ],
    'has a line that is not JSON': [
      (text) => withLine(text, 3, () => 'hello'),
      /^users\.state\.json:3: not valid JSON at column 1$/,
    ],
    'is formatted and has a fault': [
      (text) => JSON.stringify(JSON.parse(text), null, 2).replace('"id": "usr_0"', '"id": usr_0'),
      /^users\.state\.json:9: not valid JSON at column 13$/,
    ],
    'has text after its end': [(text) => `${text}{}\n`, /^users\.state\.json:13: not valid JSON at column 1/],
    'has a serial that is not a number': [
      (text) => text.replace('"serial":7', '"serial":"7"'),
      /^users\.state\.json:1: serial is invalid$/,
    ],
    'has another format': [
      () => '{"version":4,"resources":[]}',
      /^users\.state\.json is not a state file of users$/,
    ],
  }
  for (const [shape, [change, message, kind = 'refused']] of Object.entries(shapes))
    it(`that ${shape} is refused and not changed`, async () => {
      const failure = await failureOf(change(await writeTen()))
      expect(failure.message).to.match(message)
      expect(failure.kind).to.equal(kind)
    })

  it('that is not UTF-8 is refused', async () => {
    const bytes = Buffer.from(await writeTen())
    bytes[bytes.indexOf('user-4')] = 0xff
    expect((await failureOf(bytes)).message).to.equal('users.state.json is not UTF-8 text')
  })

  it('that is a directory is refused', async () => {
    mkdirSync(path)
    const shown = (await rejectedFailure(open)).message
    expect(shown).to.equal('Cannot read users.state.json: it is not a regular file')
  })
})
