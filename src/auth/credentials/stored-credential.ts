import * as z from 'zod/mini'
import { optionalEndpoint } from '../../contract/base-url.ts'
import { faultsOf } from '../../contract/faults.ts'
import { tryParse } from '../../contract/notation/exact-json.ts'

/** A function, because few runs read a stored credential, and creating the schema takes 1% of a short run. */
function createSchema() {
  /** The user of the credential, as the service reported it when the credential was stored. */
  const user = z.optional(z.object({ id: z.nullable(z.string()), email: z.nullable(z.string()) }))
  const endpoint = z.string().check(z.refine((address) => optionalEndpoint(address) !== undefined))
  const apiKey = z.object({
    version: z.literal(1),
    kind: z.literal('api_key'),
    key: z.string().check(z.minLength(1)),
    /** As the service reported it when the key was stored. */
    expires_at: z.optional(z.iso.datetime()),
    user,
  })
  const tokenSet = z.object({
    version: z.literal(1),
    kind: z.literal('oauth'),
    access_token: z.string().check(z.minLength(1)),
    token_type: z.string(),
    refresh_token: z.optional(z.string()),
    obtained_at: z.optional(z.iso.datetime()),
    expires_at: z.optional(z.iso.datetime()),
    scope: z.optional(z.string()),
    /** Requested with each renewal, because the refresh token would grant more. */
    narrowed_scope: z.optional(z.string()),
    client_id: z.string(),
    issuer: z.optional(z.string()),
    token_endpoint: endpoint,
    revocation_endpoint: z.optional(endpoint),
    user,
    /** Revoking these tokens ends only this sign-in. */
    grant_per_sign_in: z.optional(z.boolean()),
  })
  return z.discriminatedUnion('kind', [apiKey, tokenSet])
}

export type StoredCredential = z.infer<ReturnType<typeof createSchema>>

export type ApiKey = Extract<StoredCredential, { kind: 'api_key' }>

/**
 * An OAuth token set (RFC 6749 section 5.1) with all data to renew and revoke it, so that neither depends
 * on the current configuration. Times are in ISO 8601, UTC.
 */
export type TokenSet = Extract<StoredCredential, { kind: 'oauth' }>

/**
 * Whether revoking the tokens of one sign-in may end another one. Many servers have one grant per user and
 * client, and revoke all of it (RFC 7009 section 2.1).
 */
export function mayShareGrant(one: TokenSet, other: TokenSet): boolean {
  const isSameServer =
    one.token_endpoint === other.token_endpoint || (one.issuer !== undefined && one.issuer === other.issuer)
  return (
    isSameServer && one.client_id === other.client_id && !one.grant_per_sign_in && !other.grant_per_sign_in
  )
}

/** The secret for the Authorization header. */
export function secretOf(credential: StoredCredential): string {
  return credential.kind === 'api_key' ? credential.key : credential.access_token
}

/** @throws Error with a description of the fault, which never quotes the text */
export function parseStored(text: string): StoredCredential {
  const value = tryParse(text)
  const { version } = z.safeParse(z.object({ version: z.number() }), value).data ?? {}
  if (version !== undefined && version > 1) throw new Error('was written by a newer version of chatctl')
  const parsed = z.safeParse(createSchema(), value)
  if (parsed.success) return parsed.data
  const [fault] = faultsOf(parsed.error)
  throw new Error(`is not a credential of chatctl${fault?.path ? ` (see ${fault.path})` : ''}`)
}

/** Tokens are renewed this long, in ms, before they expire, because a request takes time to arrive. */
const margin = 60_000

/** Whether the access token can still be sent. Without an expiry time, it can. */
export function isFresh(tokens: Pick<TokenSet, 'expires_at' | 'obtained_at'>, now: number): boolean {
  if (tokens.expires_at === undefined) return true
  const expiry = Date.parse(tokens.expires_at)
  // A token with a lifetime of a minute would never be fresh.
  const lifetime = expiry - Date.parse(tokens.obtained_at ?? tokens.expires_at)
  return now < expiry - Math.min(margin, lifetime > 0 ? lifetime / 10 : margin)
}

/** Whether the access token has not expired yet. */
export function isAlive(tokens: TokenSet, now: number): boolean {
  return tokens.expires_at === undefined || now < Date.parse(tokens.expires_at)
}
