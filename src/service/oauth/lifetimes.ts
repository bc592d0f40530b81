import type { Clock } from '../../system/clock.ts'

/** Unix time in whole seconds, as in OAuth. */
export const inSeconds = (clock: Pick<Clock, 'now'>): number => Math.floor(clock.now() / 1000)

/** The current time for oidc-provider, which reads the system's clock. */
export const providerNow = (): number => Math.floor(Date.now() / 1000)

/** Fields of the payloads of oidc-provider that contain a time. */
const timeFields = new Set(['authTime', 'consumed', 'exp', 'iat', 'iiat', 'loginTs', 'nbf'])

/**
 * Converts the times of a payload from the system's clock, which oidc-provider reads, to the clock of the
 * service (`in`) or back (`out`). The database contains only times of the service's clock. Outside of
 * tests, the two clocks are the same, and nothing changes.
 */
export function convertTimes<T extends object>(payload: T, clock: Clock, direction: 'in' | 'out'): T {
  const ahead = Math.round(clock.now() / 1000 - Date.now() / 1000)
  if (ahead === 0) return payload
  const shift = direction === 'in' ? ahead : -ahead
  const moved = Object.entries(payload).map(([name, value]) => [
    name,
    timeFields.has(name) && typeof value === 'number' ? value + shift : value,
  ])
  return Object.fromEntries(moved)
}

const hour = 3600
const day = 24 * hour

/** In seconds. docs/reference/service-oauth.md says the same. */
export const lifetimes = {
  AccessToken: hour,
  AuthorizationCode: 60,
  /** From the request of a program to the decision of a user. */
  DeviceCode: 600,
  /** The sign-in of a program ends with its grant, even if its tokens were renewed. */
  Grant: 180 * day,
  IdToken: hour,
  /** From the beginning to the end of a browser sign-in. */
  Interaction: hour,
  /** Since the last renewal. */
  RefreshToken: 30 * day,
} as const

/** In seconds: how long a browser session may be idle, and how old it may be. */
const idleSession = 12 * hour
const oldestSession = 7 * day

/** @param signedInAt Unix seconds of oidc-provider; undefined before a sign-in */
export function sessionLifetime(signedInAt: number | undefined): number {
  const now = providerNow()
  const left = (signedInAt ?? now) + oldestSession - now
  return Math.max(1, Math.min(idleSession, left))
}

/** Whether a session has reached its maximum age, regardless of its last use. */
export const isTooOld = (signedInAt: unknown, now: number): boolean =>
  typeof signedInAt === 'number' && signedInAt + oldestSession <= now
