import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Failure } from '../../../src/contract/failure.ts'
import type { InputRow } from '../../../src/users/input/input-row.ts'
import { carryOver } from '../../../src/users/journal/carry-over.ts'
import { Journal } from '../../../src/users/journal/journal.ts'
import type { StepOutcome } from '../../../src/users/journal/journal-line.ts'
import { type ImportedUser, rowKey, stepsOf } from '../../../src/users/rows/imported-user.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'

/** The steps of a row that an import has reached, and the outcome of the last one. Undefined if nothing was sent. */
interface Progress {
  row: ImportedUser
  sent: { step: number; did: StepOutcome | 'intended' } | undefined
}

const outcome = fc.constantFrom<StepOutcome | 'intended'>(
  ...(['took', 'refused', 'unknown', 'unsent', 'nameless', 'skipped', 'intended'] as const),
)

/** Different rows, as a file has them: some create users, and some update them. */
const file = fc.uniqueArray(
  fc.record({
    number: fc.nat(12),
    isUpdate: fc.boolean(),
    role: fc.option(fc.constantFrom('admin', 'editor'), { nil: undefined }),
    sent: fc.option(fc.record({ step: fc.nat(1), did: outcome }), { nil: undefined }),
  }),
  { selector: ({ number }) => number, maxLength: 8 },
)

const progressOf = (rows: typeof file extends fc.Arbitrary<infer T> ? T : never): Progress[] =>
  rows.map(({ number, isUpdate, role, sent }) => ({
    row: {
      ...(isUpdate ? { id: `usr_${number}`, name: 'N' } : { email: `user${number}@example.com` }),
      ...(role !== undefined && { role }),
    },
    sent,
  }))

describe('a journal carried over to a changed file', () => {
  const directory = perTest(makeEmptyDirectory)
  let count = 0

  function open(rows: number): Journal {
    return Journal.open({
      path: join(directory.path, `${count++}.jsonl`),
      header: headerFor(rows),
      release: () => {},
    })
  }

  async function play(progress: readonly Progress[]): Promise<Journal> {
    const journal = open(progress.length)
    for (const [index, { row, sent }] of progress.entries()) {
      const steps = stepsOf(row)
      for (const [number, step] of steps.entries()) {
        if (sent === undefined || number > sent.step) break
        await journal.recordIntent(index, step, row.id, rowKey(row))
        const did = number < Math.min(sent.step, steps.length - 1) ? 'took' : sent.did
        if (did !== 'intended') journal.record({ row: index, step, did, id: row.id ?? `made_${index}` })
      }
    }
    await journal.sync()
    return journal
  }

  const rowsOf = (rows: readonly ImportedUser[]) =>
    async function* (): AsyncGenerator<InputRow> {
      for (const [index, row] of rows.entries()) yield { index, line: index + 2, row, faults: [], raw: '' }
    }

  async function carry(
    from: Journal,
    path: string,
    rows: readonly ImportedUser[],
    earlier: number,
  ): Promise<Journal> {
    const to = open(rows.length)
    const header = headerFor(earlier)
    for await (const line of carryOver({ path, header, journal: from }, rowsOf(rows))) to.record(line)
    await to.sync()
    return to
  }

  const headerFor = (rows: number) => ({
    v: 1 as const,
    type: 'import' as const,
    kind: 'users',
    service: 'https://chat.example/',
    input: { name: '/users.csv', form: 'csv', sha256: '00', rows },
    at: '2026-01-02T03:04:05.000Z',
  })

  it('keeps the state of every row, and is refused if a row that may have been sent is missing', async () => {
    await fc.assert(
      fc.asyncProperty(
        file.map(progressOf),
        file.map(progressOf),
        fc.integer(),
        fc.array(fc.nat(7), { maxLength: 2 }),
        async (before, added, seed, removed) => {
          // If nothing was sent, there is no journal.
          fc.pre(before.some(({ sent }) => sent !== undefined))
          const journal = await play(before)
          const path = join(directory.path, `${count - 1}.jsonl`)
          const kept = before.filter((_, index) => !removed.includes(index))
          const keys = new Set(before.map(({ row }) => rowKey(row)))
          const now = shuffled(
            [...kept, ...added.filter(({ row }) => !keys.has(rowKey(row)))].map(({ row }) => row),
            seed,
          )
          const isLost = before.some(
            (_, index) => removed.includes(index) && journal.rows.mayHaveChanged(index),
          )
          let carried: Journal
          try {
            carried = await carry(journal, path, now, before.length)
          } catch (error) {
            if (!(error instanceof Failure)) throw error
            expect([error.kind, isLost]).to.deep.equal(['conflict', true])
            return
          } finally {
            await journal.close()
          }
          expect(isLost).to.equal(false)
          for (const [index, row] of now.entries()) {
            const was = before.findIndex((one) => rowKey(one.row) === rowKey(row))
            expect(carried.rows.of(index)).to.deep.equal(was === -1 ? undefined : journal.rows.of(was))
            if (was === -1) continue
            expect(carried.rows.mayHaveChanged(index)).to.equal(journal.rows.mayHaveChanged(was))
          }
          await carried.close()
        },
      ),
      { numRuns: 150 },
    )
  })

  it('can be carried over again, with the IDs of the users', async () => {
    const [one, two] = [{ email: 'a@x.org', role: 'admin' }, { email: 'b@x.org' }]
    const first = await play([{ row: one, sent: { step: 1, did: 'refused' } }])
    const second = await carry(first, join(directory.path, `${count - 1}.jsonl`), [two, one], 1)
    const third = await carry(second, join(directory.path, `${count - 1}.jsonl`), [one, two], 2)
    expect(third.rows.of(0)).to.deep.equal({ step: 'assign', phase: 'refused' })
    expect(third.lastLine(0)?.id).to.equal('made_0')
    for (const journal of [first, second, third]) await journal.close()
  })

  it('identifies a row by its data, whatever the notation, and never by its password', () => {
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

/** The items in an order that depends on a number. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, index) => ({ item, order: Math.imul(index + 1, seed | 1) >>> 0 }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item)
}
