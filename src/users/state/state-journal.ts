import { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import type { LineLog } from '../../system/files/line-log.ts'
import { readEntry, type StateEntry } from './state-entry.ts'
import { invalid, type StateFile, type StateHeader } from './state-file.ts'

const journalFormat = 'chatctl-users-state-journal'

/** An entry that was added or replaced, or the email of one that was removed. */
export type StateChange = StateEntry | { removed: string }

/** The first line of a journal, and of its part that continues another generation. */
export function headerLine(header: StateHeader): string {
  return JSON.stringify({ format: journalFormat, v: 1, ...header })
}

type JournalLine = StateChange | ({ format: string } & StateHeader)

/** @throws Failure `refused` for a line that chatctl did not write */
export function readJournalLine(journal: StateFile, text: string, line: number): JournalLine {
  let value: Record<string, unknown> = {}
  try {
    value = Object(JSON.parse(text))
  } catch {}
  const { format, serial, service, removed } = value
  if (format === journalFormat && typeof serial === 'number') return { format, serial, service: `${service}` }
  // There is another header if the state file was replaced before a later run continued the journal.
  const isFirst = line === 1
  const change = typeof removed === 'string' ? { removed } : readEntry(value)
  if (!isFirst && typeof change !== 'string') return change
  const fault = isFirst || typeof change !== 'string' ? 'not a state journal' : change
  const hint =
    'The state journal has the changes of an interrupted run, for example the ids of users that it created. Repair it, or move it away to go on without these changes.'
  throw invalid(journal, line, fault, hint)
}

export const journalOf = ({ path, name }: StateFile): StateFile => ({
  path: `${path}.journal`,
  name: `${name}.journal`,
})

export function unwritableJournal(name: string, cause: unknown): Failure {
  const hint =
    'chatctl changes no user without this state journal. Make it writable and run the same command.'
  return systemFailure(`Cannot write ${name}`, cause, hint)
}

/** @param log the journal beside a state file that could not be written */
export function namingJournal(error: unknown, log: LineLog): unknown {
  if (!(error instanceof Failure)) return error
  const hint = log.isBroken
    ? 'The state journal beside the file could not be flushed to disk, so the changes of this run may be lost. Check the disk.'
    : 'No change is lost: the state journal beside the file has them, and the next command reads it.'
  return error.reworded(error.message, { hint })
}
