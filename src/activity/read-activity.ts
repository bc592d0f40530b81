import * as z from 'zod/mini'
import { endpoints } from '../contract/endpoints.ts'
import { isRecord, parseJson } from '../contract/notation/exact-json.ts'
import { decodedPart } from '../contract/or-else.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { readActivityBackward } from './activity-log.ts'

/** A change that chatctl sent from this machine. */
export interface ActivityEntry {
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
  outcome: 'done' | 'refused' | 'unknown'
  status: number | null
  request_id: string | null
  /** Why it failed. Null if it did not fail, or if the run ended before the outcome was known. */
  error: string | null
}

const sentLine = z.object({
  v: z.literal(1),
  id: z.string(),
  at: z.iso.datetime(),
  profile: z.nullable(z.string()),
  service: z.string(),
  command: z.string(),
  method: z.string(),
  path: z.string(),
  fields: z.array(z.string()),
  values: z.optional(z.unknown()),
  before: z.optional(z.record(z.string(), z.unknown())),
  email: z.optional(z.string()),
})

const knownOutcome = z.object({
  id: z.string(),
  outcome: z.enum(['done', 'refused', 'unknown']),
  status: z.optional(z.number()),
  request_id: z.optional(z.string()),
  created_id: z.optional(z.string()),
  error: z.optional(z.string()),
})

type KnownOutcome = z.infer<typeof knownOutcome>

/** A line as the recorder writes it, and what most runs skip it by. */
const usualSentLine = /^\{"v":1,"id":"([\w-]{1,100})","at":"([^"]{1,30})".*?"path":"([^"?]*)/
const usualOutcomeLine = /^\{"id":"([\w-]{1,100})","outcome":"(?:done|refused|unknown)".*\}$/

/** The changes to read (default: all). The others are not parsed, which takes most of the time. */
interface Selection {
  /** ISO 8601 UTC. */
  since?: string | undefined
  path?: string
}

/**
 * Reads the activity record, newest first.
 *
 * @param directory of the activity record
 * @param onUnreadable called for each line that is not a line of this version of the activity record
 * @throws Failure `storage` if the activity record cannot be read, except if there is none
 */
export function* readActivity(
  directory: string,
  onUnreadable: () => void,
  selection: Selection = {},
): Generator<ActivityEntry> {
  try {
    yield* readFiles(directory, onUnreadable, selection)
  } catch (cause) {
    throw systemFailure(`Cannot read the activity record in ${directory}`, cause)
  }
}

/** Users whose creation was sent, newest first. @throws as `readActivity` */
export function* readUserCreations(directory: string, onUnreadable: () => void): Generator<ActivityEntry> {
  const { path } = endpoints.createUser
  for (const entry of readActivity(directory, onUnreadable, { path })) {
    if (isRequestTo(endpoints.createUser, entry)) yield entry
  }
}

/** What the activity record has about the creation of an email on a service. */
export interface CreatedUser {
  /** IDs of the created users, newest first. */
  ids: readonly string[]
  /** `unknown`: no creation was confirmed, and the outcome of one is unknown. */
  outcome: 'done' | 'unknown'
}

/**
 * The users that were created from this machine, or may have been, by email in lower case.
 *
 * @param directory of the activity record
 * @throws as `readActivity`
 */
export function readCreatedUsers(directory: string, service: string): Map<string, CreatedUser> {
  const created = new Map<string, CreatedUser>()
  for (const entry of readUserCreations(directory, () => {})) {
    const { email, user_id: id, outcome } = entry
    if (entry.service !== service || email === null || outcome === 'refused') continue
    const key = email.toLowerCase()
    const { ids = [], outcome: newer } = created.get(key) ?? {}
    created.set(key, {
      ids: id === null || ids.includes(id) ? ids : [...ids, id],
      outcome: newer === 'done' ? newer : outcome,
    })
  }
  return created
}

function* readFiles(
  directory: string,
  onUnreadable: () => void,
  selection: Selection,
): Generator<ActivityEntry> {
  /** Outcomes of changes that were sent earlier, or their lines. */
  const outcomes = new Map<string, KnownOutcome | string>()
  for (const text of readActivityBackward(directory)) {
    const usual = usualOutcomeLine.exec(text)?.[1]
    if (usual !== undefined) {
      // The last one applies.
      if (!outcomes.has(usual)) outcomes.set(usual, text)
      continue
    }
    const [, id, at = '', path] = usualSentLine.exec(text) ?? []
    if (id !== undefined && (at < (selection.since ?? '') || path !== (selection.path ?? path))) {
      outcomes.delete(id)
      continue
    }
    const line = readLine(text)
    if (!line) onUnreadable()
    else if (!('at' in line)) {
      if (!outcomes.has(line.id)) outcomes.set(line.id, line)
    } else {
      const known = outcomes.get(line.id)
      const outcome = typeof known === 'string' ? readLine(known) : known
      outcomes.delete(line.id)
      if (known !== undefined && !outcome) onUnreadable()
      yield entryOf(line, outcome && !('at' in outcome) ? outcome : undefined)
    }
  }
}

function readLine(text: string): z.infer<typeof sentLine> | KnownOutcome | undefined {
  try {
    const value = parseJson(text)
    // A schema that does not fit would describe its faults, which takes most of the time.
    const schema = isRecord(value) && 'at' in value ? sentLine : knownOutcome
    return z.safeParse(schema, value).data as z.infer<typeof sentLine> | KnownOutcome | undefined
  } catch {
    return undefined
  }
}

function entryOf(
  { id, at, profile, service, command, method, path, email, fields, ...sent }: z.infer<typeof sentLine>,
  known: KnownOutcome | undefined,
): ActivityEntry {
  return {
    id,
    at,
    profile,
    service,
    command,
    method,
    path,
    email: email ?? null,
    user_id: known?.created_id ?? userIn(path) ?? null,
    fields,
    ...(sent.values !== undefined && { values: sent.values }),
    ...(sent.before && { before: sent.before }),
    outcome: known?.outcome ?? 'unknown',
    status: known?.status ?? null,
    request_id: known?.request_id ?? null,
    error: known?.error ?? null,
  }
}

/** The ID of the user that a path names. */
function userIn(path: string): string | undefined {
  const [users] = endpoints.getUser.path.split('{id}')
  if (users === undefined || !path.startsWith(users)) return undefined
  return decodedPart(path.slice(users.length).split(/[/?]/)[0] ?? '') || undefined
}

export function isApiConfiguration(sent: Pick<ActivityEntry, 'method' | 'path'>): boolean {
  return isRequestTo(endpoints.setApiConfiguration, sent)
}

function isRequestTo(
  endpoint: { method: string; path: string },
  { method, path }: Pick<ActivityEntry, 'method' | 'path'>,
): boolean {
  return method === endpoint.method && path.split('?')[0] === endpoint.path
}
