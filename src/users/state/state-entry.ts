import * as z from 'zod/mini'
import { faultsOf } from '../../contract/faults.ts'

/** A user in the state file. */
export interface StateEntry {
  email: string
  /** Undefined while the outcome of its creation is unknown, or the response had no id. */
  id?: string
  /**
   * `unknown` is set before the create is sent, and removed when its outcome is known. `forgotten`: the user may be
   * created, whatever the ledger has.
   */
  creation?: 'unknown' | 'nameless' | 'forgotten'
  /** The ID of a user who was forgotten, also while the user is created again. */
  forgotten?: string
  /** By managed field: a hash of the value that was last sent and confirmed. */
  hashes: Readonly<Record<string, string>>
  /** ISO 8601 UTC; only written by runs with a limited number of reads, and by verification. */
  checkedAt?: string
  /** If the last read with a limited number of reads found drift: hashes of the values, or that the user is missing. */
  found?: Found
}

export type Found = 'missing' | Readonly<Record<string, string>>

const text = z.string().check(z.minLength(1, 'must not be empty'))
const hash = z.string().check(z.regex(/^[\w-]{11}$/, 'must be a hash of 11 characters'))
const time = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'must be a time in UTC'))

const entry = z.strictObject({
  email: text,
  id: z.optional(text),
  creation: z.optional(z.enum(['unknown', 'nameless', 'forgotten'])),
  forgotten: z.optional(text),
  hashes: z.record(z.string(), hash),
  checkedAt: z.optional(time),
  found: z.optional(z.union([z.literal('missing'), z.record(z.string(), hash)])),
})

/** @returns the entry, or what is wrong with it */
export function readEntry(value: unknown): StateEntry | string {
  const parsed = z.safeParse(entry, value)
  if (!parsed.success) {
    const [fault] = faultsOf(parsed.error)
    return fault === undefined || fault.path === ''
      ? 'a user must be an object'
      : `${fault.path} ${fault.message}`
  }
  const { id, creation } = parsed.data
  // The value itself, so that a large file is not in memory twice.
  return id === undefined && creation === undefined ? 'id is missing' : (value as StateEntry)
}

/** The entry on one line. Equal entries have equal texts. */
export function formatEntry({ hashes, checkedAt, found, ...entry }: StateEntry): string {
  const { email, id, creation, forgotten } = entry
  const sorted = (of: object) =>
    Object.fromEntries(Object.entries(of).sort(([one], [other]) => (one < other ? -1 : 1)))
  const drift = typeof found === 'object' ? sorted(found) : found
  return JSON.stringify({ email, id, creation, forgotten, hashes: sorted(hashes), checkedAt, found: drift })
}

/** Emails are compared without case. */
export function keyOf(email: string): string {
  return email.toLowerCase()
}

/** From the least that can be known about a creation to the most. */
const creations: readonly StateEntry['creation'][] = ['forgotten', 'unknown', 'nameless', undefined]

/** A user who was forgotten with an ID was created before, unless a creation has followed: then that has the ID, too. */
function rankOf({ creation, forgotten }: StateEntry, other: StateEntry): number {
  const isCreated = creation === 'forgotten' && forgotten !== undefined && forgotten !== other.forgotten
  return creations.indexOf(creation) + (isCreated ? 2.5 : 0)
}

/**
 * The entry of the two that says more; of two with an ID, the first one, with the hashes on which both agree. A user
 * stays forgotten who was not created again with another ID.
 */
export function combined(one: StateEntry, other: StateEntry): StateEntry {
  if (one.forgotten !== undefined && one.forgotten === other.id) return one
  if (other.forgotten !== undefined && other.forgotten === one.id) return other
  const more = rankOf(other, one) - rankOf(one, other)
  if (more !== 0) return more > 0 ? other : one
  const hashes = Object.entries(one.hashes).filter(([path, hash]) => other.hashes[path] === hash)
  return { ...one, hashes: Object.fromEntries(hashes) }
}

/** Entries by email without case, and by ID. */
export class EntryMap {
  readonly byKey = new Map<string, StateEntry>()
  readonly #keys = new Map<string, string>()

  findById(id: string): StateEntry | undefined {
    const key = this.#keys.get(id)
    return key === undefined ? undefined : this.byKey.get(key)
  }

  /** An id belongs to one user: another entry with the same id is removed. */
  put(entry: StateEntry): void {
    const key = keyOf(entry.email)
    this.remove(key)
    if (entry.id !== undefined) {
      const other = this.#keys.get(entry.id)
      if (other !== undefined) this.remove(other)
      this.#keys.set(entry.id, key)
    }
    this.byKey.set(key, entry)
  }

  remove(key: string): void {
    const id = this.byKey.get(key)?.id
    if (id !== undefined) this.#keys.delete(id)
    this.byKey.delete(key)
  }

  sorted(isChosen: (key: string, entry: StateEntry) => boolean = () => true): StateEntry[] {
    const keys: string[] = []
    for (const [key, entry] of this.byKey) if (isChosen(key, entry)) keys.push(key)
    return keys.sort((one, other) => (one < other ? -1 : 1)).flatMap((key) => this.byKey.get(key) ?? [])
  }

  differsFrom(others: ReadonlyMap<string, StateEntry>): boolean {
    if (this.byKey.size !== others.size) return true
    return [...this.byKey].some(([key, entry]) => {
      const other = others.get(key)
      return other !== entry && (!other || formatEntry(other) !== formatEntry(entry))
    })
  }
}
