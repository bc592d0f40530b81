import type { AssignPermissionsRequest } from '../../../contract/resources/user.ts'
import { isoNow } from '../../../system/clock.ts'
import { ApiError } from '../../api-error.ts'
import type { Database } from '../../store/tables.ts'
import { type AuditContext, recordChange } from '../audit.ts'
import { lockUser } from '../users.ts'
import { effectivePermissions, type Principal, userPermissions } from './permissions.ts'

/**
 * Replaces the permissions, the role, or both, as given. A principal can neither grant a permission that
 * it does not have, nor change a user who has one that it does not have.
 * @throws ApiError `forbidden`, `user_not_found`
 */
export async function assignPermissions(
  db: Database,
  principal: Principal,
  id: string,
  { permissions, role }: AssignPermissionsRequest,
  by: AuditContext,
) {
  const granted = effectivePermissions(role ?? '', permissions ?? [])
  requireAll(principal, granted, 'You cannot assign permissions that you do not have')
  return db.transaction().execute(async (transaction) => {
    const stored = await lockUser(transaction, id)
    const before = { role: stored.role, permissions: JSON.parse(stored.permissions) as string[] }
    const held = userPermissions(id, before.role, before.permissions)
    requireAll(
      principal,
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
    await recordChange(transaction, by, { action: 'user.assign', target: id, before, after })
    return { id, permissions: after.permissions, role: after.role }
  })
}

function requireAll(principal: Principal, rights: readonly string[], rule: string): void {
  const missing = [...new Set(rights)].filter((right) => !principal.can(right))
  if (missing.length === 0) return
  throw new ApiError('forbidden', `${rule}: ${missing.slice(0, 3).join(', ')}`, {
    details: { missing_permission: missing[0], missing_permissions: missing },
  })
}
