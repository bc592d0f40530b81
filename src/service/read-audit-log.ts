import type { DataAccess } from './data-access.ts'
import { type AuditEntry, type AuditFilter, listChanges } from './domain/audit.ts'
import { findPerson } from './find-person.ts'

/** What was changed, and by whom, read on the service's own machine. */
export interface AuditAdministration {
  /** Oldest first; actor and target may be an email. @throws Failure `not_found` for nobody's */
  listChanges(filter: AuditFilter): Promise<AuditEntry[]>
}

export function readAuditLog({ openExisting, guarded }: DataAccess): AuditAdministration {
  return {
    listChanges: (filter) =>
      guarded(async () => {
        const store = await openExisting()
        if (!store) return []
        const idOf = async (name: string | undefined) =>
          name?.includes('@') ? (await findPerson(store.db, name)).id : name
        const [actor, target] = [await idOf(filter.actor), await idOf(filter.target)]
        return listChanges(store.db, { ...filter, actor, target })
      }),
  }
}
