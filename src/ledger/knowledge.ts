import { endpoints } from '../contract/endpoints.ts'
import type { Outcome } from '../contract/failure.ts'
import type { Line } from '../system/files/shared-lines.ts'
import {
  type CommandRecord,
  type ImportNote,
  type IntentRecord,
  type OutcomeRecord,
  readRecord,
  type WrittenNote,
} from './record.ts'

/** A change that chatctl sent from this machine. */
export interface LedgerEntry {
  /** Unique on this machine. */
  id: string
  /** ISO 8601 UTC: when it was sent. */
  at: string
  profile: string | null
  /** Base URL of the service; `local` for the embedded service. */
  service: string
  command: string
  method: string
  path: string
  /** Of a new user. */
  email: string | null
  /** Of the user that the change is about, or that it created. */
  user_id: string | null
  /** Dotted paths of the fields that were sent. */
  fields: string[]
  /** The request body of a change of settings or of the API configuration. Absent for other changes. */
  values?: unknown
  /** The values before a change of settings, by their paths, if they were read. */
  before?: Record<string, unknown>
  outcome: Outcome
  status: number | null
  request_id: string | null
  /** Why it failed. Null if it did not fail, or if the run ended before the outcome was known. */
  error: string | null
}

/** An entry with what only questions need. */
export interface PlacedEntry extends LedgerEntry {
  /** Of a user: the hashes of the managed fields that were sent. */
  sent: Readonly<Record<string, string>>
  /** Of a create: IDs of users with the email who no longer exist. */
  replaces: readonly string[]
  /** In the ledger. A later change has a higher one, whatever the clock said. */
  position: number
}

/** What was last sent for a field, unless the service refused it. */
export interface SentField
  extends Pick<PlacedEntry, 'id' | 'at' | 'command' | 'outcome' | 'error' | 'position'> {
  /** As `hashOfField` makes it. */
  hash: string
}

/** What the ledger has about a user. */
export interface UserKnowledge {
  /** IDs of the users that were created with the email, newest first. */
  ids: readonly string[]
  /**
   * `unknown`: no creation was confirmed, and the outcome of one is unknown. `skipped`: the same, and a row of an import
   * that creates the user is skipped. Undefined if no creation was sent.
   */
  creation: 'done' | 'unknown' | 'skipped' | undefined
  /** ID of the last creation. */
  change?: string
}

/** What the ledger has about the import of a file. */
export interface ImportKnowledge extends Pick<ImportNote, 'import' | 'file' | 'text' | 'rows' | 'restarted'> {
  /** IDs of its runs since the last one that was restarted. */
  runs: readonly string[]
  /** IDs of those after which some row was not sent, or has an unknown outcome. */
  openRuns: readonly string[]
  isClosed: boolean
}

/** @param notes oldest first */
export function importsIn(notes: readonly WrittenNote<ImportNote>[]): ImportKnowledge[] {
  const imports = new Map<string, ImportKnowledge & { runs: string[] }>()
  const finished = new Set<string>()
  for (const { by, ended, runs = [], ...note } of notes) {
    const key = JSON.stringify([note.import, note.file, note.text])
    const known = imports.get(key)
    for (const run of ended === 'finished' ? [by, ...runs] : []) finished.add(run)
    if (known && ended === 'closed') known.isClosed = true
    if (ended) continue
    const earlier = note.restarted ? undefined : known
    const restarted = earlier?.restarted ?? note.restarted
    imports.set(key, {
      ...note,
      restarted,
      runs: [...(earlier?.runs ?? []), by],
      openRuns: [],
      isClosed: false,
    })
  }
  return Array.from(imports.values(), (one) => {
    const openRuns = one.runs.filter((run) => !finished.has(run))
    return { ...one, openRuns, restarted: one.restarted && openRuns.length === one.runs.length }
  })
}

/**
 * The changes in lines of a ledger, in the order in which they were last sent. An outcome is applied to its change, the last one of several.
 *
 * @param findRuns finds the records of runs by their IDs
 */
export function changesIn(
  lines: Iterable<Line>,
  findRuns: (ids: ReadonlySet<string>) => ReadonlyMap<string, CommandRecord>,
): PlacedEntry[] {
  const intents = new Map<string, { intent: IntentRecord; position: number }>()
  const outcomes = new Map<string, OutcomeRecord>()
  let isMoved = false
  for (const { text, at } of lines) {
    const record = readRecord(text)
    if (record && 'of' in record) {
      const sent = intents.get(record.of)
      // After a 429, it was sent again here.
      if (sent && record.did === 'unknown' && record.error === undefined) {
        sent.position = at
        isMoved = true
      }
      outcomes.set(record.of, record)
    } else if (record && 'id' in record) intents.set(record.id, { intent: record, position: at })
  }
  const runs = findRuns(new Set(Array.from(intents.keys(), runOf)))
  const changes = [...intents.values()].flatMap(({ intent, position }) => {
    const run = runs.get(runOf(intent.id))
    return run ? [entryOf(intent, position, run, outcomes.get(intent.id))] : []
  })
  return isMoved ? changes.sort((one, other) => one.position - other.position) : changes
}

/** The ID of the run of a change. */
export function runOf(id: string): string {
  return id.slice(0, id.lastIndexOf('-'))
}

export function entryOf(
  {
    id,
    at,
    method,
    path,
    fields,
    email,
    email_as: written,
    user,
    values,
    before,
    sent,
    replaces = [],
  }: IntentRecord,
  position: number,
  { profile, service, command }: CommandRecord,
  known: OutcomeRecord | undefined,
): PlacedEntry {
  return {
    ...{ id, at, profile, service, command, method, path },
    email: written ?? email ?? null,
    user_id: known?.user ?? user ?? null,
    fields,
    ...(values !== undefined && { values }),
    ...(before && { before }),
    outcome: known?.did ?? 'unknown',
    status: known?.status ?? null,
    request_id: known?.request_id ?? null,
    error: known?.error ?? null,
    sent: sent ?? {},
    replaces,
    position,
  }
}

export function isRequestTo(
  endpoint: { method: string; path: string },
  { method, path }: Pick<LedgerEntry, 'method' | 'path'>,
): boolean {
  return method === endpoint.method && path.split('?')[0] === endpoint.path
}

/** The users whose creation was sent and not refused, by email in lower case. @param entries oldest first */
export function usersIn(entries: readonly PlacedEntry[]): Map<string, UserKnowledge> {
  const holders = new Map<string, string>()
  const users = new Map<string, UserKnowledge>()
  for (const entry of entries) {
    const { id: change, user_id: id, email, outcome, replaces, error } = entry
    if (outcome === 'refused' || email === null || !isRequestTo(endpoints.createUser, entry)) continue
    const key = email.toLowerCase()
    const { ids: all = [], creation } = users.get(key) ?? {}
    const ids = all.filter((other) => !replaces.includes(other))
    // The ID of another user in a response is not that of this one.
    const isOther = id !== null && (holders.get(id) ?? key) !== key
    if (id !== null && !isOther) holders.set(id, key)
    const isCertain = creation === 'done' || outcome === 'done' || outcome === 'contradicted'
    users.set(key, {
      ids: id === null || isOther ? ids : [id, ...ids.filter((other) => other !== id)],
      creation: isCertain ? 'done' : error === 'skipped' ? 'skipped' : 'unknown',
      change,
    })
  }
  return users
}

/** What was last sent for each field of each user, by ID. @param entries oldest first */
export function sentTo(entries: readonly PlacedEntry[]): Map<string, Map<string, SentField>> {
  const sent = new Map<string, Map<string, SentField>>()
  const holders = new Map<string, string | null>()
  for (const entry of entries) {
    const { user_id: id, at, command, outcome, error, position } = entry
    if (outcome === 'refused' || id === null) continue
    const isCreation = isRequestTo(endpoints.createUser, entry)
    // The response to another creation had the ID.
    if (isCreation && (holders.get(id) ?? entry.email) !== entry.email) continue
    if (isCreation) holders.set(id, entry.email)
    const fields = sent.get(id) ?? new Map<string, SentField>()
    sent.set(id, fields)
    for (const [path, hash] of Object.entries(entry.sent))
      fields.set(path, { hash, id: entry.id, at, command, outcome, error, position })
  }
  return sent
}
