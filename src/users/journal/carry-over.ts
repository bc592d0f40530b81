import { Failure } from '../../contract/failure.ts'
import { countOf } from '../../view/format/count.ts'
import type { InputRow } from '../input/input-row.ts'
import { RowSet } from '../input/row-set.ts'
import { readFileLines } from '../read-file-lines.ts'
import { rowKey } from '../rows/imported-user.ts'
import type { Journal } from './journal.ts'
import { type JournalHeader, readJournalLine, type StepLine } from './journal-line.ts'

/** The journal of an earlier content of the file. */
export interface EarlierJournal {
  path: string
  header: JournalHeader
  journal: Journal
}

/** The rows of the current file, without those that have faults. */
export type ValidRows = () => AsyncIterable<InputRow>

/**
 * Converts the journal of an earlier version of the file into lines for the journal of the current version.
 * A row is found by its content (`rowKey`), at any position.
 *
 * @throws Failure `conflict` if a row that was sent, or may have been, is no longer in the file
 */
export async function* carryOver(earlier: EarlierJournal, rows: ValidRows): AsyncIterable<StepLine> {
  const { journal, path } = earlier
  const states = journal.rows
  const rowOfKey = await readKeys(path)
  const found = new RowSet()
  const isOrderFixed = journal.fileOf('passwords') !== undefined
  let moved: number | undefined
  for await (const { index, row, line } of rows()) {
    const key = row && rowKey(row)
    const before = key === undefined ? undefined : rowOfKey.get(key)
    if (key === undefined || before === undefined) continue
    found.add(before)
    const last = states.of(before) && journal.lastLine(before)
    if (last === undefined) continue
    if (before !== index) moved ??= line
    yield* carriedLines(index, key, last, row?.id === undefined)
  }
  assertNoneLost(earlier, found)
  if (isOrderFixed && moved !== undefined) throw reordered(earlier, moved)
}

/** The lines of a row of another journal: the create of a user, unless it is the last one, and the last one. */
export function* carriedLines(
  row: number,
  key: string,
  { at: _, ...last }: StepLine,
  isCreate: boolean,
): Generator<StepLine> {
  if (isCreate && last.step !== 'create') {
    yield { row, step: 'create', did: 'took', key, ...(last.id !== undefined && { id: last.id }) }
  }
  // Without `at`, the request is not counted again for the quota.
  yield { ...last, row, key }
}

/** The key of each row that was sent. */
async function readKeys(path: string): Promise<Map<string, number>> {
  const keys = new Map<string, number>()
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line && 'row' in line && line.key !== undefined) keys.set(line.key, line.row)
  }
  return keys
}

/** @param found the rows that are still in the file, by their index in the earlier version */
function assertNoneLost({ header, journal }: EarlierJournal, found: RowSet): void {
  const { rows, name } = header.input
  const lost: number[] = []
  for (let row = 0; row < rows; row++) {
    if (journal.rows.mayHaveChanged(row) && !found.has(row)) lost.push(row)
  }
  if (lost.length === 0) return
  const [first = 0] = lost
  const id = journal.lastLine(first)?.id
  const which = `${countOf(lost.length, 'row')} that may have been sent ${lost.length === 1 ? 'was' : 'were'} edited or removed`
  const example = `row ${first + 1} of the earlier file${id === undefined ? '' : `, user ${id}`}`
  const message = `${name} has changed since it was imported at ${header.at}: ${which} (${lost.length === 1 ? '' : 'the first is '}${example})`
  throw new Failure('conflict', message, {
    advice: [{ code: 'restore_rows' }],
    details: { rows: lost.slice(0, 1000).map((row) => row + 1), count: lost.length },
  })
}

function reordered({ header }: EarlierJournal, line: number): Failure {
  return new Failure(
    'conflict',
    `${header.input.name} has changed since it was imported at ${header.at}: line ${line} has moved, but the generated passwords are stored in the order of the rows`,
    { hint: 'Append new rows at the end of the file.' },
  )
}
