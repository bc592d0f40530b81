import type { Step } from '../rows/imported-user.ts'

/**
 * The outcome of a step. `took`: it succeeded. `unsent`: it certainly was not done and can be sent again, for
 * example after a 429. `nameless`: the user was created, but the next step needs the id, which the response
 * did not contain. `skipped`: on request of the user. `differs`: it succeeded according to its status, but the
 * response shows other values, or another user.
 */
export type StepOutcome = 'took' | 'refused' | 'unknown' | 'unsent' | 'nameless' | 'skipped' | 'differs'

/** The first line: the input and the service. */
export interface JournalHeader {
  v: 1
  type: 'import'
  kind: string
  /** Base URL of the service. */
  service: string
  input: { name: string; form: string; sha256: string; rows: number }
  /** Begun with `restart`: users that others have created are created again. */
  restarted?: true
  /** ISO 8601 UTC. */
  at: string
}

/** Without `did`, the intent to send a step; with it, the outcome. */
export interface StepLine {
  /** From 0. */
  row: number
  step: Step
  /** Unix time in ms; only in an intent. */
  at?: number
  /** `rowKey` of the row, by which it is found after the file has changed; in every intent. */
  key?: string
  did?: StepOutcome
  /** User ID; in every line after it is known, except if it belongs to another user. */
  id?: string
  /** Why the step was refused, or why its outcome is unknown. */
  error?: string
}

/** A file that the import has written: generated passwords, failed rows, or rows whose outcome is unknown. */
export interface FileLine {
  type: 'passwords' | 'failed_rows' | 'unknown_rows'
  path: string
  /** Size and modification time after writing. If they differ, another program has changed the file. */
  mark?: string
}

/**
 * `finished`: every row has a known outcome. The next run sends the rows with an id again, but not those that created a user.
 * `closed`: the user gave up the import; a later run of the same file resumes it.
 */
export interface EndLine {
  type: 'finished' | 'closed'
  /** ISO 8601 UTC. */
  at: string
}

/** The window of a quota according to the service. It may have begun before the first request. Times are in ms. */
export interface WindowLine {
  type: 'window'
  /** Only of a run without a journal. */
  service?: string
  at: number
  /** Duration of the window. */
  length: number
  since: number
  requests: number
}

/** A request of a run without a journal. */
type RequestLine = { type: 'request'; service: string; at: number }

export type JournalLine = JournalHeader | StepLine | FileLine | EndLine | RequestLine | WindowLine

/** @returns undefined if the text is not a complete line of a journal */
export function readJournalLine(text: string): JournalLine | undefined {
  try {
    const line: unknown = JSON.parse(text)
    if (typeof line !== 'object' || line === null) return undefined
    const isLine = 'row' in line ? typeof line.row === 'number' && 'step' in line : 'type' in line
    return isLine ? (line as JournalLine) : undefined
  } catch {
    return undefined
  }
}
