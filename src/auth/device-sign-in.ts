import {
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  None,
  processDeviceAuthorizationResponse,
} from 'oauth4webapi'
import { optionalEndpoint } from '../contract/base-url.ts'
import { Failure, type FailureKind, type Help } from '../contract/failure.ts'
import { isRecord, tryParse } from '../contract/notation/exact-json.ts'
import { describeDuration } from '../system/clock.ts'
import { type AuthorizationServer, findAuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import { demandNoServerError, redeemDeviceCode } from './token-endpoint.ts'
import { asFailure } from './token-failure.ts'
import { createTransport, type Transport, type TransportOptions, through } from './transport.ts'

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

/** How many consecutive polls may fail in this way. */
const maxFailures = 5

/** A server may offer this in its metadata, and yet not to every client or for every scope. */
const refusals: ReadonlySet<FailureKind> = new Set(['unauthorized', 'invalid_response'])

/** In seconds. RFC 8628 section 3.5. */
const slowDown = 5

/**
 * Signs in with a code that the user enters on any device (RFC 8628).
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
  const { clientId, scope } = options
  // The clock of the server may differ, so only durations count.
  const lifetime = (code.expiresIn ?? Infinity) * 1_000
  const wait = Math.min(options.wait, lifetime)
  const end = clock.monotonic() + wait
  await options.onCode(code, wait)
  const polling = createTransport({ ...options.transport, retries: 0, maxWait: 0 })
  let { interval } = code
  for (let failures = 0; ; ) {
    const left = Math.max(end - clock.monotonic(), 0)
    await clock.sleep(Math.min(interval * 1_000 * 2 ** failures, left), signal)
    try {
      return await redeemDeviceCode({ server, clientId, scope }, code.deviceCode, polling, clock)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const isLast = clock.monotonic() >= end
      const isPending = error.code === 'slow_down' || error.code === 'authorization_pending'
      if (isPending && isLast) throw lifetime <= options.wait ? codeExpired() : timedOut(options.wait)
      if (error.code === 'slow_down') interval += slowDown
      if (isPending) failures = 0
      else if (isLast || !passing.has(error.kind) || ++failures >= maxFailures)
        throw finalFailure(error, isLast)
    }
  }
}

function finalFailure(failure: Failure, isLast: boolean): Failure {
  if (failure.code === 'expired_token') return codeExpired()
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
    throw error.reworded(error.message, {
      hint: 'Request another scope with --scope, or sign in with --no-browser.',
    })
  }

const newCode: Help = { hint: 'Run the same command again. It gets a new code.' }

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

/** What the user needs to sign in on another device (RFC 8628 section 3.2). Safe to show, except the device code. */
export interface DeviceCode {
  /** A secret: anyone who has it gets the tokens. */
  deviceCode: string
  userCode: string
  verificationUri: string
  /** The same with the user code. */
  verificationUriComplete: string | undefined
  /** Seconds since the response; undefined if the server does not say. */
  expiresIn: number | undefined
  /** Minimum time between two polls, in seconds. */
  interval: number
}

/** RFC 8628 section 3.2. */
const defaultInterval = 5

const maxUserCodeLength = 64
const maxUriLength = 2048

/**
 * Requests a device code (RFC 8628 section 3.1), as a public client without a secret.
 * @throws Failure of the network, `unauthorized` if the server refuses, `invalid_response` for codes and addresses
 *   that cannot be shown
 */
export async function requestDeviceCode(
  { issuer }: AuthorizationServer,
  endpoint: string,
  { clientId, scope }: { clientId: string; scope: string | undefined },
  transport: Transport,
): Promise<DeviceCode> {
  const as = { issuer, device_authorization_endpoint: endpoint }
  const client = { client_id: clientId }
  const parameters = new URLSearchParams(scope === undefined ? {} : { scope })
  const request = async () => {
    const response = await deviceAuthorizationRequest(as, client, None(), parameters, through(transport))
    demandNoServerError(response)
    return processDeviceAuthorizationResponse(as, client, await withLifetime(response))
  }
  const answer = await asFailure('The sign-in', endpoint, (value) => value, request, 'device authorization')
  return readDeviceCode(answer, new URL(endpoint))
}

/** Some servers omit `expires_in`, which RFC 8628 and oauth4webapi require: 0 means none. */
async function withLifetime(response: Response): Promise<Response> {
  if (response.status !== 200) return response
  const { status, headers } = response
  const text = await response.text()
  const answer = tryParse(text)
  return new Response(isRecord(answer) ? JSON.stringify({ expires_in: 0, ...answer }) : text, {
    status,
    headers,
  })
}

function readDeviceCode(answer: DeviceAuthorizationResponse, endpoint: URL): DeviceCode {
  const { origin } = endpoint
  const { user_code: userCode, verification_uri_complete: complete, interval = defaultInterval } = answer
  if (!isPrintable(userCode)) throw unusable(origin, 'a user code that cannot be shown')
  const verificationUri = readAddress(answer.verification_uri, endpoint)
  if (verificationUri === undefined) throw unusable(origin, 'an unsafe address for the browser')
  return {
    deviceCode: answer.device_code,
    userCode,
    verificationUri,
    // Optional, so that an unusable one is omitted.
    verificationUriComplete: readAddress(complete, endpoint),
    expiresIn: answer.expires_in || undefined,
    interval,
  }
}

/** Letters, digits, and signs: no control characters, and no invisible ones that change the reading order. */
function isPrintable(userCode: string): boolean {
  return (
    userCode.length <= maxUserCodeLength &&
    /^[\p{L}\p{N}\p{P}\p{S}]+( [\p{L}\p{N}\p{P}\p{S}]+)*$/u.test(userCode)
  )
}

/** An https address, or http if both are on this machine, without credentials, as the URL parser writes it. */
function readAddress(address: string | undefined, endpoint: URL): string | undefined {
  return (address ?? '').length > maxUriLength ? undefined : optionalEndpoint(address, endpoint)
}

function unusable(origin: string, answer: string): Failure {
  return new Failure('invalid_response', `The sign-in failed: ${origin} sent ${answer}`)
}
