import { isLoopback } from '../../../contract/base-url.ts'
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
    { hint: `Permissions of the user: ${[...new Set(rights)].join(', ')}` },
  )
}

/** @throws Failure `usage` for a time in the past, or an invalid time */
export function checkExpiry(expiresAt: string, now: number): void {
  if (Date.parse(expiresAt) > now) return
  throw new Failure('usage', `The expiry time ${expiresAt} is in the past`)
}

/** How long an access token may be valid, in seconds. */
const tokenLifetimes = { minimum: 60, maximum: 3600 }

/** Maximum characters of an issuer, an audience, and a subject. */
const maxClaim = 512

/** @throws Failure `usage` */
export function checkTrustName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return
  throw new Failure(
    'usage',
    'The name of a trust must have 1 to 64 letters, digits, dots, underscores, or hyphens, and begin with a letter or digit',
  )
}

/** Whether the keys of an issuer may be read at a URL: the connection is encrypted, or stays on this machine. */
export function isSafeIssuerUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/** OpenID Connect Discovery section 3. @throws Failure `usage` */
export function checkIssuer(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url && isSafeIssuerUrl(url) && !/[?#@\s]/.test(issuer) && issuer.length <= maxClaim) return
  throw new Failure(
    'usage',
    'The issuer must be an https:// URL without user, query, and fragment, exactly as in the claim "iss" of its tokens',
    { hint: 'Plain HTTP is possible only for an issuer on loopback' },
  )
}

/** @throws Failure `usage` */
export function checkAudience(audience: string): void {
  if (isClaim(audience)) return
  throw new Failure('usage', `The audience must have 1 to ${maxClaim} characters without control characters`)
}

/** A kind and an owner, such as `repo:acme/`. */
const owner = /^[^:/]+[:/][^:/]+[:/]/

/** @throws Failure `usage` for a pattern that the jobs of several owners could match */
export function checkSubject(subject: string): void {
  if (!isClaim(subject)) {
    throw new Failure('usage', `The subject must have 1 to ${maxClaim} characters without control characters`)
  }
  if (subject.includes('***')) throw new Failure('usage', 'The subject must not contain ***: use ** instead')
  if (subject.includes('*') && !owner.test(subject.slice(0, subject.indexOf('*')))) {
    throw new Failure(
      'usage',
      'The subject must name the whole owner before the first *, as in repo:acme/**: otherwise, other users of the issuer match it',
    )
  }
}

/** A text without control characters, which a claim has too. */
export const isClaim = (text: string): boolean =>
  text.trim() !== '' && text.length <= maxClaim && text.isWellFormed() && !/\p{Cc}/u.test(text)

/** @throws Failure `usage` */
export function checkTokenLifetime(seconds: number): void {
  const { minimum, maximum } = tokenLifetimes
  if (Number.isInteger(seconds) && seconds >= minimum && seconds <= maximum) return
  throw new Failure('usage', 'The access tokens of a trust must expire after 1 minute to 1 hour')
}
