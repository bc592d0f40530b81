import {
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  None,
  processDeviceAuthorizationResponse,
} from 'oauth4webapi'
import { readEndpoint } from '../contract/base-url.ts'
import { Failure } from '../contract/failure.ts'
import { isRecord, tryParse } from '../contract/notation/exact-json.ts'
import type { AuthorizationServer } from './authorization-server.ts'
import { demandNoServerError, publicClient, through } from './token-endpoint.ts'
import { asFailure } from './token-failure.ts'
import type { Transport } from './transport.ts'

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
 *
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
  const client = publicClient(clientId)
  const parameters = new URLSearchParams(scope === undefined ? {} : { scope })
  const request = async () => {
    const response = await deviceAuthorizationRequest(as, client, None(), parameters, through(transport))
    demandNoServerError(response)
    return processDeviceAuthorizationResponse(as, client, await withUsableMembers(response))
  }
  const answer = await asFailure('The sign-in', endpoint, (value) => value, request, 'device authorization')
  return readDeviceCode(answer, new URL(endpoint))
}

/** Some servers send numbers as strings, or other members that oauth4webapi would reject although a sign-in is possible. */
async function withUsableMembers(response: Response): Promise<Response> {
  if (response.status !== 200) return response
  const { status, headers } = response
  const text = await response.text()
  const answer = tryParse(text)
  if (!isRecord(answer)) return new Response(text, { status, headers })
  const { interval, verification_uri_complete: complete, ...needed } = answer
  const usable = {
    // The name in early drafts of RFC 8628, which Google still uses.
    verification_uri: answer['verification_url'],
    ...needed,
    // oauth4webapi requires a number: 0 means none.
    expires_in: positive(answer['expires_in']) ?? 0,
    interval: Math.max(1, positive(interval) ?? defaultInterval),
    ...(typeof complete === 'string' ? { verification_uri_complete: complete } : {}),
  }
  return new Response(JSON.stringify(usable), { status, headers })
}

function positive(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : undefined
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
  if (address === undefined || address.length > maxUriLength) return undefined
  try {
    return readEndpoint(address, 'address', endpoint)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

function unusable(origin: string, answer: string): Failure {
  return new Failure('invalid_response', `The sign-in failed: ${origin} sent ${answer}`)
}
