/** Now in whole seconds since 1970, as OAuth counts. */
export const unixNow = (): number => Math.floor(Date.now() / 1000)

const hour = 3600
const day = 24 * hour

/** In seconds. docs/reference/service-oauth.md says the same. */
export const lifetimes = {
  AccessToken: hour,
  AuthorizationCode: 60,
  /** A sign-in of a program ends with it, however often it was renewed. */
  Grant: 180 * day,
  IdToken: hour,
  /** The person at the pages of a sign-in. */
  Interaction: hour,
  /** Since the last renewal. */
  RefreshToken: 30 * day,
} as const

/** A session of a browser ends when it was idle for so long, or is so old. */
const idleSession = 12 * hour
const oldestSession = 7 * day

/** @param signedInAt Unix seconds; unknown before somebody has signed in */
export function sessionLifetime(signedInAt: number | undefined): number {
  const now = unixNow()
  const left = (signedInAt ?? now) + oldestSession - now
  return Math.max(1, Math.min(idleSession, left))
}

/** Whether a session is at the end of its lifetime, however lately it was used. */
export const isTooOld = (signedInAt: unknown): boolean =>
  typeof signedInAt === 'number' && signedInAt + oldestSession <= Date.now() / 1000
