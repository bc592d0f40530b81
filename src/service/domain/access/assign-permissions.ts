import type { AssignPermissionsRequest } from '../../../contract/user.ts'
import { isoNow } from '../../../system/clock.ts'
import { Refusal } from '../../refusal.ts'
import type { Database } from '../../store/tables.ts'
import { noteChange, type Origin } from '../audit.ts'
import { lockUser } from '../users.ts'
import type { Caller } from './callers.ts'
import { rightsOf, rightsOfUser } from './permissions.ts'

export interface Assignment {
  id: string
  permissions: string[]
  role: string
}

/**
 * Replaces the permissions, the role or both, whichever is given. Nobody grants what they do not
 * hold, nor changes a user who holds more than they do.
 * @throws Refusal `forbidden`, `user_not_found`
 */
export async function assignPermissions(
  db: Database,
  caller: Caller,
  id: string,
  { permissions, role }: AssignPermissionsRequest,
  by: Origin,
): Promise<Assignment> {
  const granted = rightsOf(role ?? '', permissions ?? [])
  demandAll(caller, granted, 'You cannot assign permissions that you do not have')
  return db.transaction().execute(async (transaction) => {
    const stored = await lockUser(transaction, id)
    const before = { role: stored.role, permissions: JSON.parse(stored.permissions) as string[] }
    const held = rightsOfUser(id, before.role, before.permissions)
    demandAll(
      caller,
      held,
      'You cannot change the permissions of a user who has permissions that you do not have',
    )
    const after = {
      role: role ?? before.role,
      permissions: permissions ? [...new Set(permissions)] : before.permissions,
    }
    await transaction
      .updateTable('users')
      .set({
        role: after.role,
        permissions: JSON.stringify(after.permissions),
        updated_at: isoNow(by.clock),
      })
      .where('id', '=', id)
      .execute()
    await noteChange(transaction, by, { action: 'user.assign', target: id, before, after })
    return { id, permissions: after.permissions, role: after.role }
  })
}

function demandAll(caller: Caller, rights: readonly string[], rule: string): void {
  const missing = [...new Set(rights)].filter((right) => !caller.may(right))
  if (missing.length === 0) return
  throw new Refusal('forbidden', `${rule}: ${missing.slice(0, 3).join(', ')}`, {
    details: { missing_permission: missing[0], missing_permissions: missing },
  })
}
