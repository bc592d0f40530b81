import { Failure } from '../../../contract/failure.ts'
import { nearest } from '../../../contract/nearest-word.ts'
import type { Tier } from '../../store/tables.ts'
import { tierLimits } from './keys.ts'
import { covers, listPermissions } from './permissions.ts'

/** In characters. */
export const maxNameLength = 200

/** @throws Failure `usage` */
export function checkKeyName(name: string): void {
  if (name.trim() !== '' && [...name].length <= maxNameLength && name.isWellFormed() && !name.includes('\0'))
    return
  throw new Failure('usage', 'The name of an API key must have 1 to 200 characters')
}

/**
 * How many requests per hour a key has; null for no limit.
 * @param limit the requested limit, if any
 * @throws Failure `usage` for a limit of any tier but enterprise
 */
export function resolveHourlyLimit(tier: Tier, limit: number | undefined): number | null {
  if (tier !== 'enterprise') {
    if (limit === undefined) return tierLimits[tier]
    throw new Failure('usage', `The limit of tier ${tier} is ${tierLimits[tier]} requests per hour`, {
      hint: 'Only the tier enterprise can have another limit',
    })
  }
  if (limit === undefined) return null
  if (Number.isSafeInteger(limit) && limit > 0) return limit
  throw new Failure('usage', 'The limit must be an integer of at least 1 (requests per hour)')
}

/** @throws Failure `usage` for a permission that no endpoint requires: it can only be a mistake */
export function checkKnownPermissions(permissions: readonly string[]): void {
  const known = listPermissions()
  const wrong = permissions.find((permission) => !known.includes(permission))
  if (wrong === undefined) return
  const meant = nearest(wrong, known)
  throw new Failure('usage', `Unknown permission ${JSON.stringify(wrong)}`, {
    hint: meant ? `Did you mean ${meant}?` : `Known permissions: ${known.join(', ')}`,
  })
}

/** @throws Failure `refused` for a permission that the user of the key does not have */
export function checkGrantable(
  permissions: readonly string[],
  rights: readonly string[],
  user: string,
  credential = 'An API key',
): void {
  const missing = permissions.filter((permission) => !covers(rights, permission))
  if (missing.length === 0) return
  throw new Failure(
    'refused',
    `${credential} of ${user} cannot have ${missing.join(', ')}: the user does not have it`,
    {
      hint: `Permissions of the user: ${[...new Set(rights)].join(', ')}`,
    },
  )
}

/** @throws Failure `usage` for a time in the past, or an invalid time */
export function checkExpiry(expiresAt: string, now: number): void {
  if (Date.parse(expiresAt) > now) return
  throw new Failure('usage', `The expiry time ${expiresAt} is in the past`)
}
