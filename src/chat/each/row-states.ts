import { Failure } from '../../contract/failure.ts'
import type { RowNote } from '../../ledger/record.ts'
import type { CheckedRow } from './message-rows.ts'
import type { ResultsLog, RowStatus } from './results-log.ts'

/**
 * Takes what earlier runs have sent from the ledger, and the outcomes that a kill kept from it from the results.
 * @param notes about the rows, oldest first
 * @param results undefined for a dry run
 * @throws Failure `storage` if the results lack a reply
 */
export function readRowNotes(
  rows: readonly CheckedRow[],
  notes: readonly RowNote[],
  results: ResultsLog | undefined,
): void {
  const last = new Map(notes.map((note) => [Number(note.row.split(':')[1]), note]))
  for (const row of rows) {
    const known = last.get(row.index)
    if (!known) continue
    const { did = 'unknown', error } = known
    const written = results?.rowStatus(row.index)
    if (
      results &&
      ((did === 'done' && written !== 'done') || (did === 'contradicted' && written !== 'not_whole'))
    ) {
      throw new Failure('storage', `${results.path} lacks the reply of line ${row.line}`, {
        hint: 'The file was changed or removed after chatctl wrote it. Restore it, or send every row again with --restart.',
      })
    }
    const isStored =
      written === 'done' || written === 'not_whole' || (written === 'failed' && known.did === undefined)
    row.state = { did: isStored ? outcomeOf[written] : did, error, isCurrent: false }
  }
}

const outcomeOf = { done: 'done', not_whole: 'contradicted', failed: 'refused' } as const

/** Undefined if the row was not sent. */
export function rowStatus({ state, fault }: CheckedRow): RowStatus | undefined {
  if (fault !== undefined) return 'skipped'
  return state && statuses[state.did]
}

const statuses = {
  done: 'done',
  contradicted: 'not_whole',
  refused: 'failed',
  unverified: 'unknown',
  unknown: 'unknown',
  unsent: undefined,
} as const
