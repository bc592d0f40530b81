import type { CreatedUser } from '../../activity/read-activity.ts'
import { readFileLines } from '../read-file-lines.ts'
import { emailOfKey, type ImportedUser, rowKey, stepsOf } from '../rows/imported-user.ts'
import { carriedLines } from './carry-over.ts'
import { readJournalLine, type StepLine } from './journal-line.ts'
import { findOthers, type JournalRequest, wasRestarted } from './open-journal.ts'
import type { RowStates } from './row-states.ts'

export interface CreatedUsers {
  /** The users whose creation any command has sent, by email in lower case; undefined to create users again. */
  createdUsers: (() => ReadonlyMap<string, CreatedUser>) | undefined
  /** Whether a row of the file has this email, which is in lower case. */
  isInFile(email: string): boolean
}

/** The last line of a row that creates a user, and the key of the row, if it is known. */
interface Creation {
  key?: string
  last: StepLine
}

/**
 * Finds the rows whose user others have created, or may have created, by email. A row with the same content as in
 * another import continues where that one has ended.
 *
 * @param take called with lines as in the journal of the import
 * @returns the number of rows whose user was certainly created
 */
export async function adoptCreated(
  states: RowStates,
  { directory, header, restart, rows }: JournalRequest,
  { createdUsers, isInFile }: CreatedUsers,
  take: (line: StepLine) => void,
): Promise<number> {
  let count = 0
  if (createdUsers === undefined || restart || wasRestarted(directory, header)) return count
  const found = new Map<string, Creation>()
  const add = (email: string, creation: Creation): void => {
    if (certaintyOf(creation.last) > certaintyOf(found.get(email)?.last)) found.set(email, creation)
  }
  for (const { path } of findOthers(directory, header)) {
    for (const creation of await readCreations(path, isInFile)) add(emailOfKey(creation.key), creation)
  }
  for (const [email, { ids, outcome }] of createdUsers()) {
    const [id] = ids
    const did = outcome === 'done' ? 'took' : 'unknown'
    if (isInFile(email))
      add(email, { last: { row: 0, step: 'create', did, ...(id !== undefined && { id }) } })
  }
  if (found.size === 0) return count
  for await (const { index, row } of rows()) {
    const creation = found.get(row?.email?.toLowerCase() ?? '')
    if (!creation || !row || row.id !== undefined || states.mayHaveChanged(index)) continue
    const isDone = certaintyOf(creation.last) === 2
    // The outcome of a create that this import knows to be refused was perhaps unknown before.
    if (!isDone && states.of(index)) continue
    if (isDone) count++
    for (const line of adoptedLines(index, row, creation)) take(line)
  }
  return count
}

function* adoptedLines(index: number, row: ImportedUser, { key, last }: Creation): Generator<StepLine> {
  const line = { row: index, key: rowKey(row), step: 'create' as const }
  const { id } = last
  if (certaintyOf(last) === 1) {
    yield { ...line, did: 'unknown', error: 'another request may have created this user' }
  } else if (key === line.key) yield* carriedLines(index, key, last, true)
  else if (id === undefined) yield { ...line, did: stepsOf(row).length > 1 ? 'nameless' : 'took' }
  else yield { ...line, did: 'took', id }
}

/** 0: the user was certainly not created; 1: perhaps; 2: certainly. */
function certaintyOf(last: StepLine | undefined): number {
  if (last === undefined) return 0
  if (last.step !== 'create' || ['took', 'nameless', 'differs'].includes(last.did ?? '')) return 2
  return last.did === undefined || last.did === 'unknown' ? 1 : 0
}

/** The creations in a journal, which another process may be writing. */
async function readCreations(path: string, isInFile: CreatedUsers['isInFile']) {
  const rows = new Map<number, { key: string; last: StepLine }>()
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined || !('row' in line)) continue
    const known = rows.get(line.row)
    if (known) known.last = line
    else if (line.step === 'create' && line.key !== undefined && isInFile(emailOfKey(line.key))) {
      rows.set(line.row, { key: line.key, last: line })
    }
  }
  return rows.values()
}
