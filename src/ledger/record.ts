import type { EndpointName } from '../contract/endpoints.ts'
import { type Outcome, outcomes, type RequestOutcome } from '../contract/failure.ts'
import { hashOfField, managedFields } from '../contract/managed-fields.ts'
import { isRecord, parseJson, tryParse } from '../contract/notation/exact-json.ts'
import { leavesOf, valueAt } from '../contract/notation/tree.ts'
import { hideSecretParameters, hideSecrets } from '../contract/secret-fields.ts'

/** The first line of a run. */
export interface CommandRecord {
  /** Distinguishes this run from all others. */
  run: string
  v: 1
  /** ISO 8601 UTC. */
  at: string
  /** As typed: `users update`. */
  command: string
  /** Null if no profile was selected. */
  profile: string | null
  /** Base URL of the service; `local` for the embedded service. */
  service: string
  pid: number
}

/** What a change is about. These fields come first in both of its lines, so that one search finds both. */
interface Subject {
  /** Of a new user, in lower case. */
  email?: string | undefined
  /** ID of the user that the path names or, in an outcome, that was created. */
  user?: string | undefined
  about?: 'settings' | 'api' | undefined
}

/** Flushed to disk before a change is sent. It contains no secret, and of users no values except the email address. */
export interface IntentRecord extends Subject {
  /** The ID of the run, and a number. */
  id: string
  at: string
  /** The email as it is sent, if it has capital letters. */
  email_as?: string | undefined
  method: string
  path: string
  /** Dotted paths of the fields in the body. */
  fields: string[]
  /** Of a create: IDs of users with the email who no longer exist. */
  replaces?: readonly string[] | undefined
  /** Hashes of the managed fields of a user. */
  sent?: Record<string, string> | undefined
  /** The body of a change of the settings or the API configuration. */
  values?: unknown
  /** Of a change of settings: the values that the fields had, by their paths. Absent if they were not read. */
  before?: Record<string, unknown> | undefined
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

/** The last line of a run, with the changes that have no outcome. */
interface EndRecord {
  end: string
  open: string[]
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
  /** Its ID; with a dot and the name of a part, if only that is applied. */
  plan: string
}

/** What names a plan, or one part of it. */
export function planKey(id: string, part: string | undefined): string {
  return part === undefined ? id : `${id}.${part}`
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
  /** IDs of the unfinished runs that the run has continued. */
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

/** The first line of a ledger that was rewritten: its size after it, in bytes. */
interface RewriteRecord {
  rewritten: number
}

const userEndpoints: readonly unknown[] = ['createUser', 'updateUser', 'assignPermissions']

/** A request that changes something, before it is sent. */
export interface Change {
  method: string
  /** Relative to the base URL of the service; may have a query. */
  path: string
  query?: Record<string, string> | undefined
  /** A JSON value, or its text. */
  body?: unknown
  /** Undefined if the interface does not document the request. */
  endpoint: EndpointName | undefined
  /** ID of the user that the path names. */
  user: string | undefined
  /** The settings as they were read before. */
  before?: object | undefined
  replaces?: readonly string[] | undefined
}

type LedgerRecord = CommandRecord | IntentRecord | OutcomeRecord | EndRecord | WrittenNote | RewriteRecord

export function intentOf(change: Change): Omit<IntentRecord, 'id' | 'at'> {
  const { method, endpoint, user, before, replaces } = change
  const body = readBody(change.body)
  // JSON has no undefined values.
  const fields = leavesOf(body).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  const email = endpoint === 'createUser' && isRecord(body) ? body['email'] : undefined
  const about =
    endpoint === 'updateSettings' ? 'settings' : endpoint === 'setApiConfiguration' ? 'api' : undefined
  const key = typeof email === 'string' ? email.toLowerCase() : undefined
  return {
    email: key,
    user,
    about,
    email_as: typeof email === 'string' && email !== key ? email : undefined,
    method,
    path: showPath(change),
    fields,
    replaces: endpoint === 'createUser' ? replaces : undefined,
    sent: userEndpoints.includes(endpoint) && isRecord(body) ? hashesOf(body) : undefined,
    values: about && hideSecrets(body),
    before: about === 'settings' && before ? valuesBefore(before, fields) : undefined,
  }
}

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

export function lineOf(record: LedgerRecord): string {
  // The fields by which lines are found come first.
  const { email, user, about, ...rest } = record as IntentRecord
  return JSON.stringify({ email, user, about, ...rest })
}

/** @returns undefined for a line that this version of chatctl did not write */
export function readRecord(text: string): LedgerRecord | undefined {
  // Only these fields may have numbers that must be kept as they were sent, which takes longer.
  const value = tryParse(text, /"(values|before)":/.test(text) ? parseJson : JSON.parse)
  if (!isRecord(value)) return undefined
  const has = (type: string, ...names: string[]) => names.every((name) => typeof value[name] === type)
  const isIntent =
    has('string', 'id', 'at', 'method', 'path') &&
    Array.isArray(value['fields']) &&
    !Number.isNaN(Date.parse(String(value['at'])))
  const isOutcome = has('string', 'of') && outcomes.includes(value['did'] as Outcome)
  const isRun = has('string', 'run', 'at', 'command', 'service') && value['v'] === 1
  const isOther = has('string', 'by') || has('string', 'end') || has('number', 'rewritten')
  return isIntent || isOutcome || isRun || isOther ? (value as unknown as IntentRecord) : undefined
}

function hashesOf(body: Record<string, unknown>): Record<string, string> {
  const { metadata, settings, ...rest } = body
  const fields = managedFields({
    ...rest,
    metadata: isRecord(metadata) ? metadata : {},
    settings: isRecord(settings) ? settings : {},
  })
  return Object.fromEntries([...fields].map(([path, value]) => [path, hashOfField(path, value)]))
}

function valuesBefore(before: object, fields: readonly string[]): Record<string, unknown> {
  const values = fields.map((path) => [path, hideSecrets(valueAt(before, path), path)])
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function readBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body
  return tryParse(typeof body === 'string' ? body : new TextDecoder().decode(body), parseJson)
}

function showPath({ path, query }: Change): string {
  const whole = query === undefined ? path : `${path}?${new URLSearchParams(query)}`
  return whole.includes('?') ? hideSecretParameters(whole) : whole
}
