import type { Step } from '../rows/user-row.ts'

/**
 * What became of a step. `unsent`: it surely was not done, and is to be sent again, as after a 429.
 * `nameless`: the user was created, and what comes next needs an id that the service did not say.
 */
export type Outcome = 'took' | 'refused' | 'unknown' | 'unsent' | 'nameless' | 'skipped'

/** The first line: what is imported, and where to. */
export interface JournalHeader {
  v: 1
  type: 'import'
  kind: string
  /** Address of the service. */
  service: string
  input: { name: string; form: string; sha256: string; rows: number }
  /** ISO 8601 UTC. */
  at: string
}

/** A step that is about to be sent, while there is no `did`; else what became of it. */
export interface StepLine {
  /** From 0. */
  row: number
  step: Step
  /** Ms since the epoch, of an intent. */
  at?: number
  /** Digest of the row's content, in every intent: by it the row is found in a file that has grown. */
  key?: string
  did?: Outcome
  /** The user's, in every line since it is known. */
  id?: string
  /** Why it was refused, or is unknown. */
  error?: string
}

/** A file that the import has written: generated passwords, failed rows, or rows whose outcome is unknown. */
export interface FileLine {
  type: 'passwords' | 'failed_rows' | 'unknown_rows'
  path: string
  /** Its size and time when it was written: with others it is somebody else's work. */
  mark?: string
}

/**
 * `finished`: every row was sent and answered. The next run sends updates and assignments again, and
 * no create. `closed`: somebody has given the import up; a later run of the same file continues it.
 */
export interface EndLine {
  type: 'finished' | 'closed'
  /** ISO 8601 UTC. */
  at: string
}

/** The window of a quota as the service named it, which may have begun before the first request. Times are ms. */
export interface WindowLine {
  type: 'window'
  at: number
  /** Of the window. */
  length: number
  since: number
  requests: number
}

export type JournalLine = JournalHeader | StepLine | FileLine | EndLine | WindowLine

/** @returns undefined for what is no whole line of a journal */
export function readJournalLine(text: string): JournalLine | undefined {
  try {
    const line: unknown = JSON.parse(text)
    return isJournalLine(line) ? line : undefined
  } catch {
    return undefined
  }
}

function isJournalLine(line: unknown): line is JournalLine {
  if (typeof line !== 'object' || line === null) return false
  if ('row' in line) return typeof line.row === 'number' && 'step' in line
  return 'type' in line
}
