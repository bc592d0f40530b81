import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type EndLine,
  Journal,
  type JournalHeader,
  type RowState,
  type StepLine,
} from '../../src/bulk/journal/journal.ts'
import { findUnfinishedImports, importsDirectory } from '../../src/bulk/journal/open-journal.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { rowKey } from '../../src/users/rows/imported-user.ts'
import { codePoint } from '../support/code-point.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

const keys = ['a', 'b', 'c', 'd', 'e']
const header: JournalHeader = {
  type: 'import',
  kind: 'users',
  service: 'https://chat.example/',
  file: '/users.csv',
  rows: keys.length,
  restarted: false,
  at: '2026-01-02T03:04:05.000Z',
}

const directory = perTest(makeEmptyDirectory)
let path: string

beforeEach(() => {
  path = join(directory.path, 'journal.jsonl')
})

function open(): Journal {
  return new Journal({ path, header, restart: false, release: () => {} })
}

/** Writes a complete journal with these lines. */
function write(lines: readonly (StepLine | EndLine)[]): Buffer {
  const text = [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(path, text)
  return Buffer.from(text)
}

const stepLine = fc.record(
  {
    key: fc.constantFrom(...keys),
    step: fc.constantFrom('create' as const, 'update' as const, 'assign' as const),
    did: fc.constantFrom('took', 'refused', 'unknown', 'unsent', 'nameless', 'skipped'),
    id: fc.string({ minLength: 1 }),
    error: fc.string({ unit: codePoint }),
  },
  { requiredKeys: ['key', 'step'] },
) as fc.Arbitrary<StepLine>

const endLine = fc.record({ type: fc.constantFrom('finished' as const, 'closed' as const) })

type Last = Pick<RowState, 'step' | 'phase' | 'id'>

/** The state of each row according to the complete lines in the first bytes of a journal. */
function lastIn(bytes: Buffer): Map<string, Last> {
  const states = new Map<string, Last>()
  const created = new Set<string>()
  for (const text of bytes.toString('latin1').split('\n').slice(0, -1)) {
    const line = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'))
    if ('key' in line) {
      states.set(line.key, { step: line.step, phase: line.did ?? 'intended', id: line.id })
      if (line.step === 'create') created.add(line.key)
    }
    if (line.type === 'finished') for (const key of keys) if (!created.has(key)) states.delete(key)
  }
  return states
}

const lastOf = (journal: Journal): Map<string, Last> =>
  new Map([...journal.content.states].map(([key, { step, phase, id }]) => [key, { step, phase, id }]))

describe('an import journal', () => {
  it('can be read and continued after any interruption of its writing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 5, arbitrary: stepLine }, { weight: 1, arbitrary: endLine }), {
          maxLength: 14,
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (lines, share) => {
          const bytes = write(lines)
          const prefix = bytes.subarray(0, Math.floor(bytes.length * share))
          writeFileSync(path, prefix)
          const journal = open()
          const wanted = lastIn(prefix)
          expect(lastOf(journal)).to.deep.equal(wanted)
          // The partial line is removed, and the next line is complete.
          journal.record({ key: 'a', step: 'create', did: 'took', id: 'u0' })
          await journal.close()
          const again = open()
          wanted.set('a', { step: 'create', phase: 'took', id: 'u0' })
          expect(lastOf(again)).to.deep.equal(wanted)
          await again.close()
        },
      ),
      { numRuns: fc.readConfigureGlobal().numRuns ?? 100 },
    )
  })

  it('survives the process after a turn of the event loop', async () => {
    const textOf = () => readFileSync(path, 'utf8')
    const journal = open()
    journal.record({ key: 'a', step: 'create', did: 'took', id: 'u0' })
    journal.record({ key: 'b', step: 'create', did: 'took', id: 'u1' })
    await endOfTurn()
    expect(textOf().match(/"id":"u\d"/g)).to.deep.equal(['"id":"u0"', '"id":"u1"'])
    await journal.close()
  })

  it('has flushed an intent to disk before it confirms it', async () => {
    const journal = open()
    const intents = keys.map((key) => journal.recordIntent({ key, step: 'create' }))
    await Promise.race(intents)
    expect(readFileSync(path, 'utf8').split('\n')).to.have.length(keys.length + 2)
    await Promise.all(intents)
    expect(keys.every((key) => journal.wasRequested(key))).to.equal(true)
    await journal.close()
  })

  it('forgets updates when it is finished, but never a create', async () => {
    write([
      { key: 'a', step: 'create', did: 'took', id: 'u0' },
      { key: 'a', step: 'assign', did: 'took', id: 'u0' },
      { key: 'b', step: 'assign', did: 'took', id: 'u1' },
    ])
    const journal = open()
    journal.end('closed')
    expect(lastOf(journal).get('b')).to.deep.equal({ step: 'assign', phase: 'took', id: 'u1' })
    journal.end('finished')
    journal.end('finished')
    await journal.close()
    const again = open()
    expect([...lastOf(again)]).to.deep.equal([['a', { step: 'assign', phase: 'took', id: 'u0' }]])
    expect(again.rowOfCreated('u0')).to.equal('a')
    await again.close()
    expect(readFileSync(path, 'utf8').match(/finished/g)).to.have.length(1)
  })

  it('begins anew after a finished run without creates, when something is sent', async () => {
    write([{ key: 'b', step: 'assign', did: 'took', id: 'u1' }])
    const journal = open()
    journal.noteFile({ type: 'failed_rows', path: '/failed.csv', mark: '1' })
    journal.end('finished')
    await journal.close()
    const again = open()
    again.noteFile({ type: 'failed_rows', path: '/failed.csv', mark: '2' })
    await again.recordIntent({ key: 'a', step: 'assign', id: 'u0' })
    await again.close()
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).type ?? 'row')).to.deep.equal([
      ...['import', 'failed_rows', 'failed_rows', 'row'],
    ])
    const last = open()
    expect(last.content.files.get('failed_rows')?.mark).to.equal('2')
    expect([...last.content.states.keys()]).to.deep.equal(['a'])
    await last.close()
  })

  it('forgets a row that was refused and then removed from the file, when something is sent', async () => {
    write([{ key: 'a', step: 'create', did: 'refused', error: 'no' }])
    for (const isSending of [false, true]) {
      const journal = open()
      journal.drop('a')
      if (isSending) journal.record({ key: 'b', step: 'create', did: 'took', id: 'u1' })
      await journal.close()
      const again = open()
      expect([...again.content.states.keys()]).to.deep.equal([isSending ? 'b' : 'a'])
      await again.close()
    }
  })

  it('leaves no file if nothing was sent', async () => {
    await open().close()
    expect(statSync(path, { throwIfNoEntry: false })).to.equal(undefined)
  })

  it('is readable by its owner only', async () => {
    const journal = open()
    await journal.recordIntent({ key: 'a', step: 'create' })
    await journal.close()
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('is not missed because another import removes its own at the same time', () => {
    const directories = new Directories({ XDG_STATE_HOME: directory.path })
    const imports = importsDirectory(directories)
    mkdirSync(imports, { recursive: true })
    symlinkSync(join(imports, 'nowhere'), join(imports, 'a.jsonl'))
    path = join(imports, 'b.jsonl')
    write([{ key: 'a', step: 'create' }])
    expect(findUnfinishedImports(directories).map((found) => found.path)).to.deep.equal([path])
  })

  it('ignores an invalid line, which a crash of the system can leave', async () => {
    const took = JSON.stringify({ key: 'd', step: 'create', did: 'took', id: 'u3' })
    writeFileSync(path, `${JSON.stringify(header)}\n\0\0\0\0\n{"half\n${took}\n`)
    const journal = open()
    expect([...journal.content.states.keys()]).to.deep.equal(['d'])
    await journal.close()
  })
})

describe('the key of a row', () => {
  it('depends on its data, whatever the notation, and never on its password', () => {
    const row = { email: 'a@x.org', role: 'admin', metadata: { a: 1, b: [{ c: 2, d: 3 }] } }
    const key = rowKey(row)
    expect(rowKey({ metadata: { b: [{ d: 3, c: 2 }], a: 1 }, role: 'admin', email: 'a@x.org' })).to.equal(key)
    expect(rowKey({ ...row, password: 'secret' })).to.equal(key)
    for (const other of [
      { email: 'b@x.org' },
      { role: 'editor' },
      { metadata: {} },
      { metadata: { a: 1, b: [{ c: 2, d: 4 }] } },
      { permissions: [] },
    ]) {
      expect(rowKey({ ...row, ...other })).not.to.equal(key)
    }
  })
})
