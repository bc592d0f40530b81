import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Journal } from '../../src/bulk/journal/journal.ts'
import type { JournalHeader, StepLine } from '../../src/bulk/journal/journal-line.ts'
import { isUnsettled, type RowState } from '../../src/bulk/journal/row-states.ts'

const rows = 5
const header: JournalHeader = {
  v: 1,
  type: 'import',
  kind: 'users',
  service: 'https://chat.example/',
  input: { name: '/users.csv', form: 'csv', sha256: '00', rows },
  at: '2026-01-02T03:04:05.000Z',
}

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chatctl-journal-'))
  path = join(folder, 'journal.jsonl')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(): Journal {
  return Journal.open({ path, header, release: () => {} })
}

/** A journal with these lines, whole. */
function write(lines: readonly StepLine[]): Buffer {
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

/** What the lines that are whole in a beginning of a journal say of each row. */
function standingsIn(bytes: Buffer): (RowState | undefined)[] {
  const whole = bytes.toString('latin1').split('\n').slice(0, -1)
  const states: (RowState | undefined)[] = Array.from({ length: rows }, () => undefined)
  for (const text of whole) {
    const line = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'))
    if ('row' in line) states[line.row] = { step: line.step, phase: line.did ?? 'intended' }
  }
  return states
}

describe('the journal of an import', () => {
  it('says of every beginning of itself what its whole lines say, and goes on from there', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(stepLine, { maxLength: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (lines, share) => {
          const bytes = write(lines)
          const prefix = bytes.subarray(0, Math.floor(bytes.length * share))
          writeFileSync(path, prefix)
          const journal = open()
          const wanted = standingsIn(prefix)
          expect(wanted.map((_, row) => journal.rows.of(row))).to.deep.equal(wanted)
          expect(journal.rows.unsettled).to.equal(wanted.filter(isUnsettled).length)
          // The torn line is gone, and what comes next is whole.
          journal.record({ row: 0, step: 'create', did: 'took', id: 'u0' })
          await journal.close()
          const again = open()
          expect(again.rows.of(0)).to.deep.equal({ step: 'create', phase: 'took' })
          expect(again.lastLine(0)?.id).to.equal('u0')
          expect(wanted.slice(1).map((_, index) => again.rows.of(index + 1))).to.deep.equal(wanted.slice(1))
          await again.close()
        },
      ),
      { numRuns: 60 },
    )
  })

  it('has the last line of each row, whatever its length', async () => {
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

  it('leaves no file where nothing was sent', async () => {
    await open().close()
    expect(statSync(path, { throwIfNoEntry: false })).to.equal(undefined)
  })

  it('is readable by its owner alone', async () => {
    const journal = open()
    await journal.intend(0, 'create', undefined, 'key0')
    await journal.close()
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })

  it('has an intent on disk before it says so', async () => {
    const journal = open()
    const intents = Array.from({ length: rows }, (_, row) =>
      journal.intend(row, 'create', undefined, `key${row}`),
    )
    await Promise.race(intents)
    expect(readFileSync(path, 'utf8').split('\n')).to.have.length(rows + 2)
    await Promise.all(intents)
    await journal.close()
  })

  it('passes over a line that is none, which a crash of the machine may leave', async () => {
    const took = JSON.stringify({ row: 3, step: 'create', did: 'took', id: 'u3' })
    writeFileSync(path, `${JSON.stringify(header)}\n\0\0\0\0\n{"half\n${took}\n`)
    const journal = open()
    expect(journal.rows.of(3)).to.deep.equal({ step: 'create', phase: 'took' })
    await journal.close()
  })
})
