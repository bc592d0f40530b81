import { endpoints } from '../contract/endpoints.ts'
import type { Outcome } from '../contract/failure.ts'
import type { Line } from '../system/files/shared-lines.ts'
import { type CommandRecord, type IntentRecord, type OutcomeRecord, readRecord } from './record.ts'

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
  /** ID of the run that has settled the outcome afterwards. */
  settledBy?: string | undefined
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
  /** IDs of the users that were created with the email, newest first; only the one that was seen with it, if there is one. */
  ids: readonly string[]
  /** `unknown`: no creation was confirmed, and the outcome of one is unknown. Undefined if none was sent. */
  creation: 'done' | 'unknown' | undefined
  /** The creations of which the user is not known, oldest first. */
  open: readonly Pick<PlacedEntry, 'id' | 'outcome'>[]
  /** ID of the run for which nothing is done about them. */
  skippedBy?: string | undefined
  /** Whether the response to the last creation has shown other values, or the ID of another user. */
  isContradicted: boolean
}

/**
 * The changes in lines of a ledger, in the order in which they were last sent. An outcome is applied to its change, the last one of several.
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
      // The user of a creation that was settled remains.
      outcomes.set(record.of, { ...record, user: record.user ?? outcomes.get(record.of)?.user })
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
    // Reading a user has shown the email.
    outcome: known?.did ?? (method === 'GET' ? 'done' : 'unknown'),
    status: known?.status ?? null,
    request_id: known?.request_id ?? null,
    error: known?.error ?? null,
    sent: sent ?? {},
    replaces,
    settledBy: known?.by,
    position,
  }
}

export function isRequestTo(
  endpoint: { method: string; path: string },
  { method, path }: Pick<LedgerEntry, 'method' | 'path'>,
): boolean {
  return method === endpoint.method && path.split('?')[0] === endpoint.path
}

/** The emails of users in lower case, by ID: the last one that was seen, or else the first one that was created. */
export function emailsIn(entries: readonly PlacedEntry[]): Map<string, string> {
  const emails = new Map<string, string>()
  for (const { email, user_id: id, method } of entries) {
    if (email === null || id === null) continue
    // The ID of another user in a response is not that of this one.
    if (method === 'GET' || !emails.has(id)) emails.set(id, email.toLowerCase())
  }
  return emails
}

/**
 * The users whose creation was sent and not refused, by email in lower case.
 * @param entries oldest first
 * @param counts whether an entry counts (default: all)
 */
export function usersIn(
  entries: readonly PlacedEntry[],
  counts: (entry: PlacedEntry) => boolean = () => true,
): Map<string, UserKnowledge> {
  const emails = emailsIn(entries)
  const users = new Map<string, UserKnowledge>()
  for (const entry of entries) {
    const { id: change, user_id: id, email, outcome, replaces, error, settledBy, method } = entry
    if (email === null || outcome === 'refused' || !counts(entry)) continue
    const key = email.toLowerCase()
    const isUsable = id !== null && emails.get(id) === key
    if (method === 'GET' && isUsable)
      users.set(key, { ids: [id], creation: 'done', open: [], isContradicted: false })
    if (!isRequestTo(endpoints.createUser, entry)) continue
    const { ids: all = [], creation, open = [] } = users.get(key) ?? {}
    const ids = all.filter((other) => other !== id && !replaces.includes(other))
    const isCertain = outcome === 'done' || outcome === 'contradicted'
    users.set(key, {
      ids: isUsable ? [id, ...ids] : ids,
      creation: creation === 'done' || isCertain ? 'done' : 'unknown',
      open: isUsable && isCertain ? [] : [...open, { id: change, outcome }],
      skippedBy: error === 'skipped' ? settledBy : undefined,
      isContradicted: outcome === 'contradicted' || (id !== null && !isUsable),
    })
  }
  return users
}

/** What was last sent for each field of each user, by ID. @param entries oldest first */
export function sentTo(entries: readonly PlacedEntry[]): Map<string, Map<string, SentField>> {
  const sent = new Map<string, Map<string, SentField>>()
  const emails = emailsIn(entries)
  for (const entry of entries) {
    const { user_id: id, at, command, outcome, error, position } = entry
    if (outcome === 'refused' || id === null) continue
    if (entry.email !== null && emails.get(id) !== entry.email.toLowerCase()) continue
    const fields = sent.get(id) ?? new Map<string, SentField>()
    sent.set(id, fields)
    for (const [path, hash] of Object.entries(entry.sent))
      fields.set(path, { hash, id: entry.id, at, command, outcome, error, position })
  }
  return sent
}
