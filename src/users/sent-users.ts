import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import type { LedgerEntry } from '../ledger/changes.ts'
import type { Ledger } from '../ledger/ledger.ts'

/** What was last sent for a field, unless the service refused it. */
export interface SentField
  extends Pick<LedgerEntry, 'id' | 'at' | 'command' | 'outcome' | 'error' | 'position'> {
  /** As `hashOfField` makes it. */
  hash: string
}

/** What the ledger has about the users with an email. */
export interface UserKnowledge {
  /** IDs of the users that were created with the email, newest first; only the one that was seen with it, if there is one. */
  ids: readonly string[]
  /** `unknown`: no creation was confirmed, and the outcome of one is unknown. Undefined if none was sent. */
  creation: 'done' | 'unknown' | undefined
  /** The creations of which the user is not known, oldest first. */
  open: readonly Pick<LedgerEntry, 'id' | 'outcome' | 'error'>[]
  /** ID of the run for which nothing is done about them. */
  skippedBy?: string | undefined
  /** Whether the response to the last creation has shown other values, or the ID of another user. */
  isContradicted: boolean
}

/** What is known of the users with an email. Reads only what names them. */
export function userWith(ledger: Ledger, email: string): UserKnowledge {
  const none = { ids: [], creation: undefined, open: [], isContradicted: false }
  const changes = ledger.changesWith(email)
  const ids = new Set(changes.flatMap(({ user_id: id }) => id ?? []))
  const emails = new Map(Array.from(ids, (id) => [id, ledger.emailOf(id)]))
  return usersIn(changes, undefined, emails).get(email.toLowerCase()) ?? none
}

/** The creations of users, oldest first. */
export function creationsIn(ledger: Ledger): LedgerEntry[] {
  return ledger.userChanges().filter((entry) => isRequestTo(endpoints.createUser, entry))
}

/** The emails of users in lower case, by ID: the last one that was seen, or else the first one that was created. */
export function emailsIn(entries: readonly LedgerEntry[]): Map<string, string> {
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
  entries: readonly LedgerEntry[],
  counts: (entry: LedgerEntry) => boolean = () => true,
  emails: ReadonlyMap<string, string | undefined> = emailsIn(entries),
): Map<string, UserKnowledge> {
  const users = new Map<string, UserKnowledge>()
  for (const entry of entries) {
    const { id: change, user_id: id, email, outcome, replaces = [], error, settledBy, method } = entry
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
      open: isUsable && isCertain ? [] : [...open, { id: change, outcome, error }],
      skippedBy: error === 'skipped' ? settledBy : undefined,
      isContradicted: outcome === 'contradicted' || (id !== null && !isUsable),
    })
  }
  return users
}

/** What was last sent for each field of each user, by ID. @param entries oldest first */
export function sentTo(entries: readonly LedgerEntry[]): Map<string, Map<string, SentField>> {
  const sent = new Map<string, Map<string, SentField>>()
  const emails = emailsIn(entries)
  for (const entry of entries) {
    const { user_id: id, at, command, outcome, error, position } = entry
    if (outcome === 'refused' || id === null) continue
    if (entry.email !== null && emails.get(id) !== entry.email.toLowerCase()) continue
    const fields = sent.get(id) ?? new Map<string, SentField>()
    sent.set(id, fields)
    for (const [path, hash] of Object.entries(entry.sent ?? {}))
      fields.set(path, { hash, id: entry.id, at, command, outcome, error, position })
  }
  return sent
}
