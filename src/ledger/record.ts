import { type Outcome, outcomes, type RequestOutcome } from '../contract/failure.ts'
import type { Intent, Subject } from '../contract/intent.ts'
import { isRecord, parseJson, tryParse } from '../contract/notation/exact-json.ts'

/** The first line of a ledger. */
interface LedgerHeader {
  /** Version of the format. */
  ledger: 1
  /** Base URL; `local` for the embedded service. */
  service: string
  /** Size in bytes of the lines after it that the archive has, too (default: 0). */
  archived?: number
}

/** Flushed to disk before a change is sent. */
export interface IntentRecord extends Intent {
  /** Unique on this machine: the ID of the run, and a number. */
  id: string
  /** ISO 8601 UTC: when it was sent. */
  at: string
  /** As typed: `users update`. */
  command: string
  /** Absent if no profile was selected. */
  profile?: string | undefined
}

/** Written when the outcome of a change is known. The last one of a change applies. */
export interface OutcomeRecord extends Subject {
  of: string
  did: Outcome
  /** ID of the run, if it has settled the change of another one. */
  by?: string
  status?: number | undefined
  request_id?: string | undefined
  error?: string | undefined
}

/** The last line of a run. */
interface EndRecord {
  end: string
}

/** What a run notes beside its changes. */
export type Note = StateNote | PlanNote | ImportNote | FileNote | RowNote | OutcomeRecord

/** With the ID of the run. */
export type WrittenNote<N extends Note = Note> = N & { by: string }

/** A generation of a state file of users that this machine has written, or has continued. */
export interface StateNote {
  /** Path of the file. */
  state: string
  /** A digest of its content. */
  generation: string
  /** It has the changes until the one with this ID, which is empty if there was none, and those of the run. */
  after: string
  /** Whether another machine has written it. Then it has no changes of the run. */
  isRead?: boolean
}

/** A saved plan that is applied, and then cannot be applied again. */
export interface PlanNote {
  /** Its ID. */
  plan: string
  /** The part of it that is applied, if it is only one. */
  part?: string | undefined
}

export interface ImportNote {
  /** What the rows are. */
  import: 'users' | 'assignments'
  /** Path of the file; `stdin` for a pipe. */
  file: string
  /** Of a pipe: a digest of its text. */
  text?: string | undefined
  rows: number
  /** Whether earlier changes do not count. */
  restarted: boolean
  /** `finished`: every row has a known outcome. `closed`: the user has given it up. Absent before the first row is sent. */
  ended?: 'finished' | 'interrupted' | 'closed'
  /** IDs of the unfinished runs that the run has continued, or closed. */
  runs?: readonly string[]
}

/** A file that the run has written. */
export interface FileNote {
  file: 'results' | 'failed' | 'unknown'
  path: string
  /** Size and modification time after writing. If they differ, another program has changed the file. */
  mark?: string | undefined
  /** Of results: what names the batch, */
  batch?: string
  /** and what names its rows, which `restart` changes. */
  rows?: string
}

/** A message of a batch that is about to be sent or, with `did`, its outcome. */
export interface RowNote {
  /** What names the rows of the batch, a colon, and the index of the row. */
  row: string
  /** `unsent`: it is certainly not done, and can be sent again. */
  did?: Outcome | 'unsent' | undefined
  error?: string | undefined
}

type LedgerRecord = LedgerHeader | IntentRecord | OutcomeRecord | EndRecord | WrittenNote

export function outcomeOf(
  id: string,
  { email, user, about }: Subject,
  { outcome, status, requestId, createdId, error }: RequestOutcome,
): OutcomeRecord {
  const created = createdId?.slice(0, 200)
  return {
    ...{ email, user: created ?? user, about },
    ...{ of: id, did: outcome, status, request_id: requestId?.slice(0, 200), error },
  }
}

/** The ID of the run of a change. It ends with its process ID. */
export function runOf({ id }: Pick<IntentRecord, 'id'>): string {
  return id.slice(0, id.lastIndexOf('-'))
}

export function lineOf(record: LedgerRecord): string {
  // The fields by which lines are found come first: values may contain the same text.
  const { email, user, about, id, at, ...rest } = record as IntentRecord
  return JSON.stringify({ email, user, about, id, at, ...rest })
}

/** @returns undefined for a line that this version of chatctl did not write */
export function readRecord(text: string): LedgerRecord | undefined {
  // Only these fields may have numbers that must be kept as they were sent, which takes longer.
  const value = tryParse(text, /"(values|before)":/.test(text) ? parseJson : JSON.parse)
  if (!isRecord(value)) return undefined
  const has = (type: string, ...names: string[]) => names.every((name) => typeof value[name] === type)
  const isIntent =
    has('string', 'id', 'at', 'command', 'method', 'path') &&
    Array.isArray(value['fields']) &&
    !Number.isNaN(Date.parse(String(value['at'])))
  const isOutcome = has('string', 'of') && outcomes.includes(value['did'] as Outcome)
  const isHeader = has('string', 'service') && value['ledger'] === 1
  return isIntent || isOutcome || isHeader || has('string', 'by') || has('string', 'end')
    ? (value as unknown as IntentRecord)
    : undefined
}
