import { findKey, type KeyRecord, listKeys, type NewKey, revokeKey } from '../domain/access/keys.ts'
import { onMachine } from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import type { DataAccess } from './data-access.ts'
import {
  type CreatedKey,
  createKey,
  type KeyChange,
  type KeyRequest,
  planKey,
  planKeyChange,
  unknownKey,
  updateKey,
} from './plan-key.ts'

/** What is done to API keys on the service's own machine. */
export interface KeyAdministration {
  /**
   * The key that would be made; nothing is.
   * @throws Failure `usage`, `not_found` for the user, `refused` for more than the user may
   */
  planKey(request: KeyRequest): Promise<NewKey>
  /** Makes the data when there is none. @throws as `planKey` */
  createKey(request: KeyRequest): Promise<CreatedKey>
  /** What would be changed of a key; nothing is. @throws as `updateKey` */
  planKeyChange(id: string, change: KeyChange): Promise<Partial<NewKey>>
  /**
   * Holds in a running service from the next request on.
   * @throws Failure `not_found`, `conflict` for a revoked key, and as `planKey`
   */
  updateKey(id: string, change: KeyChange): Promise<KeyRecord>
  /** Oldest first, revoked ones included. */
  listKeys(): Promise<KeyRecord[]>
  /** @throws Failure `not_found` */
  findKey(id: string): Promise<KeyRecord>
  /** A running service refuses the key from its next request on. @throws Failure `not_found` */
  revokeKey(id: string): Promise<KeyRecord>
}

export function administerKeys({ open, openExisting, guarded }: DataAccess): KeyAdministration {
  /** Where there is no data, there is no key. */
  const withKey = <T>(id: string, work: (db: Database) => Promise<T | undefined>): Promise<T> =>
    guarded(async () => {
      const store = await openExisting()
      const done = store && (await work(store.db))
      if (done === undefined) throw unknownKey(id)
      return done
    })

  return {
    planKey: (request) => guarded(async () => planKey((await openExisting())?.db, request)),
    createKey: (request) =>
      guarded(async () => {
        const planned = await planKey((await openExisting())?.db, request)
        return createKey((await open()).db, planned)
      }),
    planKeyChange: (id, change) => withKey(id, async (db) => (await planKeyChange(db, id, change)).change),
    updateKey: (id, change) => withKey(id, (db) => updateKey(db, id, change)),
    listKeys: () =>
      guarded(async () => {
        const store = await openExisting()
        return store ? listKeys(store.db) : []
      }),
    findKey: (id) => withKey(id, (db) => findKey(db, id)),
    revokeKey: (id) => withKey(id, (db) => revokeKey(db, id, onMachine)),
  }
}
