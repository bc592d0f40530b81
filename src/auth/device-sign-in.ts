import { Failure, type FailureKind, type Help } from '../contract/failure.ts'
import { describeDuration } from '../system/clock.ts'
import { type AuthorizationServer, findAuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import { type DeviceCode, requestDeviceCode } from './device-endpoint.ts'
import { redeemDeviceCode } from './token-endpoint.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export interface DeviceSignIn {
  authUrl: string
  /** The configured token endpoint, if any. */
  tokenUrl: string | undefined
  clientId: string
  scope: string | undefined
  /** Maximum wait in ms for the user. */
  wait: number
  transport: TransportOptions & { signal: AbortSignal }
  /** Shows the code to the user. @param wait maximum time in ms that is left */
  onCode: (code: DeviceCode, wait: number) => Promise<void>
  /** Called if the server issues no code, before the sign-in ends without tokens. If omitted, it fails. */
  onRefused: ((reason: Failure) => void) | undefined
}

/** After these failures, the same poll may succeed later. */
const passing: ReadonlySet<FailureKind> = new Set([
  'unreachable',
  'timeout',
  'server_error',
  'truncated',
  'unknown_outcome',
  'rate_limited',
])

/** How many polls in succession may fail in this way. */
const maxFailures = 5

/** A server may offer this in its metadata, and yet not to every client or for every scope. */
const refusals: ReadonlySet<FailureKind> = new Set(['unauthorized', 'invalid_response'])

/** In seconds. RFC 8628 section 3.5. */
const slowDown = 5

/** The last poll is so long before the code expires, in ms, because the server issued it before the response arrived. */
const margin = 1_000

/** Minimum time in ms for a response, because a lost one may contain the tokens. */
const minTimeout = 5_000

/**
 * Signs in with a code that the user enters on any device (RFC 8628).
 *
 * @returns undefined if the server does not offer this, or after `onRefused`
 * @throws Failure `unauthorized` if the sign-in was denied or not completed in time; a failure of the network
 */
export async function signInOnDevice(options: DeviceSignIn): Promise<TokenSet | undefined> {
  const transport = createTransport(options.transport)
  const server = await findAuthorizationServer(options.authUrl, options.tokenUrl, transport)
  const { deviceAuthorizationEndpoint: endpoint } = server
  if (endpoint === undefined) return undefined
  const code = await requestDeviceCode(server, endpoint, options, transport).catch(withoutCode(options))
  if (!code) return undefined
  const { clock, signal } = options.transport
  // The clock of the server may differ, so only durations count.
  const lifetime = (code.expiresIn ?? Infinity) * 1_000
  const wait = Math.min(options.wait, lifetime)
  const begin = clock.monotonic()
  const lastPoll = begin + Math.min(wait, Math.max(lifetime - margin, 0))
  await options.onCode(code, wait)
  let { interval } = code
  for (let failures = 0; ; ) {
    const left = Math.max(lastPoll - clock.monotonic(), 0)
    const pause = interval * 1_000 * 2 ** failures
    // Instead of two polls at the end, of which the second would come too early for the server.
    const isLast = left < 2 * pause
    await clock.sleep(isLast ? left : pause, signal)
    try {
      return await poll(server, code, options, begin + wait - clock.monotonic())
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const isPending = error.code === 'slow_down' || error.code === 'authorization_pending'
      if (isPending && isLast) throw lifetime <= options.wait ? codeExpired() : timedOut(options.wait)
      if (error.code === 'slow_down') interval += slowDown
      if (isPending) failures = 0
      else if (isLast || !passing.has(error.kind) || ++failures >= maxFailures)
        throw finalFailure(error, isLast)
    }
  }
}

/** A response that is late or lost is awaited little longer than the sign-in may take. */
function poll(
  server: AuthorizationServer,
  { deviceCode }: DeviceCode,
  { clientId, scope, transport: given }: DeviceSignIn,
  left: number,
): Promise<TokenSet> {
  const timeout = Math.min(given.timeout ?? Infinity, Math.max(left, minTimeout))
  const transport = createTransport({
    ...given,
    retries: 0,
    maxWait: 0,
    ...(timeout < Infinity ? { timeout } : {}),
  })
  return redeemDeviceCode({ server, clientId, scope }, deviceCode, transport, given.clock)
}

function finalFailure(failure: Failure, isLast: boolean): Failure {
  if (failure.code === 'expired_token') return codeExpired()
  // A longer timeout would not help.
  if (isLast && passing.has(failure.kind)) return failure.reworded(failure.message, newCode)
  if (failure.code !== 'access_denied') return failure
  return failure.reworded(failure.message.replace(/^.*?, /, 'The authorization server denied the sign-in: '))
}

const withoutCode =
  ({ onRefused }: DeviceSignIn) =>
  (error: unknown): undefined => {
    if (!(error instanceof Failure) || !refusals.has(error.kind)) throw error
    if (onRefused) {
      onRefused(error)
      return undefined
    }
    if (error.code !== 'invalid_scope') throw error
    throw error.reworded(error.message, { advice: [{ code: 'scope_of_device' }] })
  }

const newCode: Help = { advice: [{ code: 'new_device_code' }] }

function codeExpired(): Failure {
  return new Failure('unauthorized', 'The code expired before the sign-in was completed', {
    code: 'expired_token',
    ...newCode,
  })
}

function timedOut(wait: number): Failure {
  return new Failure('unauthorized', `The sign-in was not completed within ${describeDuration(wait)}`, {
    code: 'sign_in_timeout',
    ...newCode,
  })
}
