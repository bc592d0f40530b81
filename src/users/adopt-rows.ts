import { Failure } from '../contract/failure.ts'
import { hashOfField, managedFields } from './managed-fields.ts'
import type { KnownRow } from './results/known-row.ts'
import type { ImportedUser, Step } from './rows/imported-user.ts'
import { keyOf } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

/** Adds the users of an import to the state, with hashes of the fields that were sent. */
export class RowAdoption {
  readonly #state: UsersState
  /** Rows whose user is in the state. */
  adopted = 0
  /** Rows with an id, but without an email. */
  withoutEmail = 0
  /** Rows whose id or email belongs to another user in the state. */
  contradicting = 0
  /** Why the rest of the rows was not added. The import must report its results nevertheless. */
  failure: Failure | undefined

  constructor(state: UsersState) {
    this.#state = state
  }

  add(row: KnownRow): void {
    if (this.failure) return
    try {
      this.#add(row)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.failure = error
    }
  }

  #add({ user, id, done, unsure, creation, isCurrent }: KnownRow): void {
    const { email } = user
    if (id === undefined) {
      const isNew = email !== undefined && creation && this.#state.find(email)?.id === undefined
      if (isNew) this.#state.note({ email, id, creation, hashes: {} })
      return
    }
    if (done.length === 0 && unsure === undefined) return
    const holder = this.#state.findById(id)
    if (email === undefined) {
      this.withoutEmail++
      return
    }
    // A create that was sent now is newer than the state.
    const isCreated = isCurrent && user.id === undefined
    if (!isCreated && this.#contradicts(email, id)) {
      this.contradicting++
      return
    }
    const hashes = new Map(Object.entries(holder?.hashes ?? {}))
    // Whether the service has the new or the old value is not known.
    if (unsure) for (const path of fieldsOf(user, unsure).keys()) hashes.delete(path)
    for (const step of done) {
      for (const [path, value] of fieldsOf(user, step)) {
        const hash = hashOfField(path, value)
        if (isCurrent || holder === undefined) hashes.set(path, hash)
        // Which of the two was sent last is not known.
        else if (hashes.get(path) !== hash) hashes.delete(path)
      }
    }
    this.#state.note({ email, id, hashes: Object.fromEntries(hashes) })
    this.adopted++
  }

  /** The email of a row with an id was not sent, so the state is more reliable. */
  #contradicts(email: string, id: string): boolean {
    const holder = this.#state.findById(id)
    const found = this.#state.find(email)
    return (
      (holder !== undefined && keyOf(holder.email) !== keyOf(email)) ||
      (found?.id !== undefined && found.id !== id)
    )
  }
}

/** The managed fields that a step sends, by path. */
function fieldsOf(user: ImportedUser, step: Step): Map<string, unknown> {
  const { name, metadata, settings, role, permissions } = user
  const profile = { ...(name !== undefined && { name }), ...(metadata && { metadata }) }
  if (step === 'create') return managedFields(profile)
  if (step === 'assign') {
    return managedFields({ ...(role !== undefined && { role }), ...(permissions && { permissions }) })
  }
  return managedFields({ ...(user.id !== undefined && profile), ...(settings && { settings }) })
}
