import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Journal } from '../../../src/users/journal/journal.ts'
import type { EndLine, JournalHeader, StepLine } from '../../../src/users/journal/journal-line.ts'
import { isUnresolved, type RowState } from '../../../src/users/journal/row-states.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

const rows = 5
const header: JournalHeader = {
  v: 1,
  type: 'import',
  kind: 'users',
  service: 'https://chat.example/',
  input: { name: '/users.csv', form: 'csv', sha256: '00', rows },
  at: '2026-01-02T03:04:05.000Z',
}

const directory = perTest(makeEmptyDirectory)
let path: string

beforeEach(() => {
  path = join(directory.path, 'journal.jsonl')
})

function open(): Journal {
  return Journal.open({ path, header, release: () => {} })
}

/** Writes a complete journal with these lines. */
function write(lines: readonly (StepLine | EndLine)[]): Buffer {
  const text = [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(path, text)
  return Buffer.from(text)
}

const stepLine = fc.record(
  {
    row: fc.nat(rows - 1),
    step: fc.constantFrom('create' as const, 'update' as const, 'assign' as const),
    did: fc.constantFrom('took', 'refused', 'unknown', 'unsent', 'nameless', 'skipped'),
    id: fc.string({ minLength: 1 }),
    error: fc.string({ unit: 'binary' }),
  },
  { requiredKeys: ['row', 'step'] },
) as fc.Arbitrary<StepLine>

const endLine = fc.record({
  type: fc.constantFrom('finished' as const, 'closed' as const),
  at: fc.constant('2026-01-02T03:04:05.000Z'),
})

/** The state of each row according to the complete lines in the first bytes of a journal. */
function standingsIn(bytes: Buffer): (RowState | undefined)[] {
  const whole = bytes.toString('latin1').split('\n').slice(0, -1)
  const states: (RowState | undefined)[] = Array.from({ length: rows }, () => undefined)
  const created = new Set<number>()
  for (const text of whole) {
    const line = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'))
    if ('row' in line) {
      states[line.row] = { step: line.step, phase: line.did ?? 'intended' }
      if (line.step === 'create') created.add(line.row)
    }
    // The lines after a create are about the user that it created.
    if (line.type === 'finished') {
      for (let row = 0; row < rows; row++) if (!created.has(row)) states[row] = undefined
    }
  }
  return states
}

describe('the journal of an import', () => {
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
          const wanted = standingsIn(prefix)
          expect(wanted.map((_, row) => journal.rows.of(row))).to.deep.equal(wanted)
          expect(journal.rows.unresolved).to.equal(wanted.filter(isUnresolved).length)
          // The partial line is removed, and the next line is complete.
          journal.record({ row: 0, step: 'create', did: 'took', id: 'u0' })
          await journal.close()
          const again = open()
          expect(again.rows.of(0)).to.deep.equal({ step: 'create', phase: 'took' })
          expect(again.lastLine(0)?.id).to.equal('u0')
          expect(wanted.slice(1).map((_, index) => again.rows.of(index + 1))).to.deep.equal(wanted.slice(1))
          await again.close()
        },
      ),
      { numRuns: 150 },
    )
  })

  it('returns the last line of each row, whatever its length', async () => {
    const error = 'x'.repeat(20_000)
    write([
      { row: 1, step: 'create', did: 'took', id: 'u1' },
      { row: 2, step: 'create', did: 'refused', error },
      { row: 1, step: 'assign', did: 'refused', id: 'u1', error: 'no' },
    ])
    const journal = open()
    expect(journal.lastLine(0)).to.equal(undefined)
    expect(journal.lastLine(1)).to.deep.equal({
      row: 1,
      step: 'assign',
      did: 'refused',
      id: 'u1',
      error: 'no',
    })
    expect(journal.lastLine(2)?.error).to.equal(error)
    await journal.close()
  })

  it('writes the lines of one turn of the event loop together, and can read them earlier', async () => {
    const textOf = () => readFileSync(path, 'utf8')
    const journal = open()
    journal.record({ row: 0, step: 'create', did: 'took', id: 'u0' })
    journal.record({ row: 1, step: 'create', did: 'took', id: 'u1' })
    expect(textOf()).to.equal('')
    await endOfTurn()
    expect(textOf().match(/"id":"u\d"/g)).to.deep.equal(['"id":"u0"', '"id":"u1"'])
    journal.record({ row: 2, step: 'create', did: 'took', id: 'u2' })
    expect(journal.lastLine(2)?.id).to.equal('u2')
    journal.record({ row: 3, step: 'create', did: 'took', id: 'u3' })
    journal.closeWithoutSync()
    expect(textOf().match(/"id":"u[23]"/g)).to.deep.equal(['"id":"u2"', '"id":"u3"'])
  })

  it('has an intent in the file when its request may be sent', async () => {
    const journal = open()
    const intents = [0, 1].map((row) => journal.recordIntent(row, 'create', undefined, `key${row}`))
    expect(await Promise.all(intents).then(() => readFileSync(path, 'utf8').match(/key\d/g))).to.deep.equal([
      'key0',
      'key1',
    ])
    await journal.close()
  })

  it('forgets updates when it is finished, but never a create', async () => {
    write([
      { row: 0, step: 'create', did: 'took', id: 'u0' },
      { row: 0, step: 'assign', did: 'took', id: 'u0' },
      { row: 1, step: 'assign', did: 'took', id: 'u1' },
    ])
    const journal = open()
    journal.end('closed')
    expect(journal.rows.of(1)).to.deep.equal({ step: 'assign', phase: 'took' })
    journal.end('finished')
    journal.end('finished')
    await journal.close()
    const again = open()
    expect([0, 1].map((row) => again.rows.of(row))).to.deep.equal([
      { step: 'assign', phase: 'took' },
      undefined,
    ])
    expect(again.lastLine(0)?.id).to.equal('u0')
    await again.recordIntent(1, 'assign', 'u1', 'key1')
    expect([0, 1].map((row) => again.wasRequested(row))).to.deep.equal([false, true])
    await again.close()
    const text = readFileSync(path, 'utf8')
    expect(text.match(/finished/g)).to.have.length(1)
    expect(text.match(/"row":0/g)).to.have.length(2)
  })

  it('begins anew after a finished run without creates, when something is sent', async () => {
    write([{ row: 1, step: 'assign', did: 'took', id: 'u1' }])
    const journal = open()
    journal.noteFile({ type: 'failed_rows', path: '/failed.csv', mark: '1' })
    journal.end('finished')
    await journal.close()
    const text = readFileSync(path, 'utf8')
    const again = Journal.open({
      path,
      header,
      release: () => {},
      onBegin: () => renameSync(path, `${path}.old`),
    })
    // Nothing is replaced before something is sent.
    again.noteFile({ type: 'failed_rows', path: '/failed.csv', mark: '2' })
    expect(readFileSync(path, 'utf8').startsWith(text)).to.equal(true)
    await again.recordIntent(0, 'assign', 'u0', 'key0')
    await again.close()
    expect(readFileSync(`${path}.old`, 'utf8').startsWith(text)).to.equal(true)
    const types = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type ?? 'row')
    expect(types).to.deep.equal(['import', 'failed_rows', 'row'])
    const last = open()
    expect(last.fileOf('failed_rows')?.mark).to.equal('2')
    expect(last.rows.of(1)).to.equal(undefined)
    await last.close()
  })

  it('leaves no file if nothing was sent', async () => {
    await open().close()
    expect(statSync(path, { throwIfNoEntry: false })).to.equal(undefined)
  })

  it('is readable by its owner only', async () => {
    const journal = open()
    await journal.recordIntent(0, 'create', undefined, 'key0')
    await journal.close()
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('has flushed an intent to disk before it confirms it', async () => {
    const journal = open()
    const intents = Array.from({ length: rows }, (_, row) =>
      journal.recordIntent(row, 'create', undefined, `key${row}`),
    )
    await Promise.race(intents)
    expect(readFileSync(path, 'utf8').split('\n')).to.have.length(rows + 2)
    await Promise.all(intents)
    await journal.close()
  })

  it('ignores an invalid line, which a crash of the system can leave', async () => {
    const took = JSON.stringify({ row: 3, step: 'create', did: 'took', id: 'u3' })
    writeFileSync(path, `${JSON.stringify(header)}\n\0\0\0\0\n{"half\n${took}\n`)
    const journal = open()
    expect(journal.rows.of(3)).to.deep.equal({ step: 'create', phase: 'took' })
    await journal.close()
  })
})
