import type { Clock } from '../../system/clock.ts'

/** Whole seconds since 1970, as OAuth counts. */
export const inSeconds = (clock: Pick<Clock, 'now'>): number => Math.floor(clock.now() / 1000)

/** Now, for oidc-provider, which reads the system's clock itself. */
export const providerNow = (): number => Math.floor(Date.now() / 1000)

/** Fields of oidc-provider's payloads that are a moment. */
const moments = new Set(['authTime', 'consumed', 'exp', 'iat', 'iiat', 'loginTs', 'nbf'])

/**
 * Converts the moments of a payload from the system's clock, which oidc-provider reads, to the clock of the
 * service (`in`) or back (`out`). The database has only moments of the service's clock. The two clocks are
 * the same outside of tests, and then nothing changes.
 */
export function shiftMoments<T extends object>(payload: T, clock: Clock, direction: 'in' | 'out'): T {
  const ahead = Math.round(clock.now() / 1000 - Date.now() / 1000)
  if (ahead === 0) return payload
  const shift = direction === 'in' ? ahead : -ahead
  const moved = Object.entries(payload).map(([name, value]) => [
    name,
    moments.has(name) && typeof value === 'number' ? value + shift : value,
  ])
  return Object.fromEntries(moved)
}

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

/** @param signedInAt Unix seconds of oidc-provider; unknown before somebody has signed in */
export function sessionLifetime(signedInAt: number | undefined): number {
  const now = providerNow()
  const left = (signedInAt ?? now) + oldestSession - now
  return Math.max(1, Math.min(idleSession, left))
}

/** Whether a session is at the end of its lifetime, however lately it was used. */
export const isTooOld = (signedInAt: unknown, now: number): boolean =>
  typeof signedInAt === 'number' && signedInAt + oldestSession <= now
