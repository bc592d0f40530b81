import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../../../system/clock.ts'
import { isClaim } from '../../domain/access/check-requests.ts'
import { listTrustsIn, type TrustRecord } from '../../domain/access/trusts.ts'
import type { Database } from '../../store/tables.ts'
import type { IssuerKeySet, IssuerKeys } from './issuer-keys.ts'

/** The claims of an identity token that the audit log shows. Undefined if they cannot be read. */
export interface IdentityClaims {
  issuer: string | undefined
  subject: string | undefined
  audience: string | string[] | undefined
}

/** An identity token is refused. The message is for the audit log only. */
export class RefusedIdentity extends Error {
  readonly claims: IdentityClaims
  constructor(reason: string, claims: IdentityClaims) {
    super(reason)
    this.claims = claims
  }
}

/** In characters. */
const maxToken = 16_384

/** Signatures that only the issuer can make: no `none`, and no HMAC, whose secret would be the public key. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** In seconds: how far the clocks of the issuer and the service may differ. */
const clockTolerance = 60

/** CI systems issue tokens for as long as a job may run. */
const maxTokenAge = '24h'

/**
 * Verifies an identity token (RFC 7519 section 7.2), and finds the trust that it matches. If several match,
 * one with an exact subject comes first, and then the oldest.
 * @throws RefusedIdentity; UnreadableKeys
 */
export async function verifyIdentityToken(
  token: string,
  { db, issuerKeys, clock }: { db: Database; issuerKeys: IssuerKeys; clock: Clock },
): Promise<{ trust: TrustRecord; subject: string }> {
  const claims = readClaims(token)
  const { issuer } = claims
  const trusts = issuer === undefined ? [] : await listTrustsIn(db, issuer)
  if (issuer === undefined || trusts.length === 0) {
    throw new RefusedIdentity('no trust has this issuer', claims)
  }
  const verify = async (keys: IssuerKeySet): Promise<JWTPayload> => {
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      issuer,
      audience: trusts.map(({ audience }) => audience),
      requiredClaims: ['sub', 'exp'],
      clockTolerance,
      maxTokenAge,
      currentDate: new Date(clock.now()),
    })
    return payload
  }
  const keys = await issuerKeys.find(issuer)
  let payload: JWTPayload
  try {
    payload = await verify(keys).catch(async (error) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const newer = await issuerKeys.find(issuer, true)
      if (newer === keys) throw error
      return verify(newer)
    })
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
      throw new RefusedIdentity(error.message, claims)
    }
    throw error
  }
  const { sub: subject, aud = [] } = payload
  if (typeof subject !== 'string' || !isClaim(subject)) {
    throw new RefusedIdentity('the subject is not a text without control characters', claims)
  }
  const matching = trusts.filter(
    (trust) => [aud].flat().includes(trust.audience) && matchesSubject(trust.subject, subject),
  )
  const trust = matching.find((known) => !known.subject.includes('*')) ?? matching[0]
  if (trust) return { trust, subject }
  throw new RefusedIdentity('no trust in this issuer has this subject and audience', claims)
}

/** The claims before they are verified. @throws RefusedIdentity */
function readClaims(token: string): IdentityClaims {
  const unknown = { issuer: undefined, subject: undefined, audience: undefined }
  if (token.length > maxToken) throw new RefusedIdentity(`it is longer than ${maxToken} characters`, unknown)
  try {
    const { iss, sub, aud } = decodeJwt<{ iss: unknown; sub: unknown; aud: unknown }>(token)
    return {
      issuer: typeof iss === 'string' ? iss : undefined,
      subject: typeof sub === 'string' ? sub : undefined,
      audience: typeof aud === 'string' ? aud : Array.isArray(aud) ? aud.map(String) : undefined,
    }
  } catch {
    throw new RefusedIdentity('it is not a JWT', unknown)
  }
}

/**
 * Whether the subject of an identity token matches a pattern, from the first to the last character. `*` is
 * any number of characters without a colon, and `**` any number of characters. Everything else is itself.
 * The time is proportional to the length of the pattern times the length of the subject.
 */
export function matchesSubject(pattern: string, subject: string): boolean {
  const parts = pattern.match(/\*\*|./gsu) ?? []
  // The positions in the pattern up to which it matches the characters read so far.
  let reached = skipWildcards(parts, [0])
  for (const character of subject) {
    const next: number[] = []
    for (const position of reached) {
      const part = parts[position]
      if (part === '**' || (part === '*' && character !== ':')) next.push(position)
      if (part === character && part !== '*') next.push(position + 1)
    }
    reached = skipWildcards(parts, next)
  }
  return reached.has(parts.length)
}

/** Adds the positions after wildcards, which may match nothing. */
function skipWildcards(parts: readonly string[], positions: readonly number[]): Set<number> {
  const all = new Set<number>()
  for (let position of positions) {
    for (; !all.has(position); position++) {
      all.add(position)
      if (parts[position] !== '*' && parts[position] !== '**') break
    }
  }
  return all
}
