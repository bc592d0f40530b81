import type { TokenSet } from './stored-credential.ts'

/** Tokens are renewed this long, in ms, before they expire: a request takes time to arrive. */
const margin = 60_000

/** Whether the access token can still be sent; where nobody said when it expires, it can. */
export function isFresh(tokens: TokenSet, now: number): boolean {
  if (tokens.expires_at === undefined) return true
  const expiry = Date.parse(tokens.expires_at)
  // One that lives for a minute would never be fresh.
  const lifetime = expiry - Date.parse(tokens.obtained_at ?? tokens.expires_at)
  return now < expiry - Math.min(margin, lifetime > 0 ? lifetime / 10 : margin)
}

/** Whether the access token may still be accepted, if only just. */
export function isAlive(tokens: TokenSet, now: number): boolean {
  return tokens.expires_at === undefined || now < Date.parse(tokens.expires_at)
}
