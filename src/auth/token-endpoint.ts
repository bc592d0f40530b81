import {
  type Client,
  type ClientAuth,
  genericTokenEndpointRequest,
  None,
  processGenericTokenEndpointResponse,
  processRevocationResponse,
  revocationRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { redactorOf } from '../client/redaction.ts'
import { bearer } from '../contract/headers.ts'
import { type Clock, isoAfter } from '../system/clock.ts'
import type { AuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import { asFailure, UnusableResponse } from './token-failure.ts'
import { createTransport, type Transport, type TransportOptions, through } from './transport.ts'

/** What is used of a server that issues tokens. */
type TokenServer = Pick<
  AuthorizationServer,
  'issuer' | 'tokenEndpoint' | 'revocationEndpoint' | 'grantPerSignIn'
>

/** A request for tokens, as a public client without a secret. */
interface TokenRequest {
  server: TokenServer
  /** Undefined if the server has not named one to us. */
  clientId: string | undefined
  /** The requested scope. The server may grant less. */
  scope: string | undefined
}

/** The data of a code exchange, except the code. */
interface CodeExchange extends TokenRequest {
  /** Exactly as in the authorization request. */
  redirectUri: string
  /** PKCE (RFC 7636); undefined if it is off. */
  verifier: string | undefined
}

/** Exchanges a code for tokens (RFC 6749 section 4.1.3). @throws Failure of the network, or as `tokenFailure` */
export async function exchangeCode(
  exchange: CodeExchange,
  code: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const { redirectUri, verifier } = exchange
  const parameters = { redirect_uri: redirectUri, code, ...(verifier && { code_verifier: verifier }) }
  const grant = { what: 'The sign-in', type: 'authorization_code', parameters, secrets: [code, verifier] }
  return tokenSetOf(exchange, await requestTokens(exchange, grant, transport), clock)
}

/**
 * Asks for the tokens of a device code (RFC 8628 section 3.4).
 * @throws Failure of the network, or as `tokenFailure`: with code `authorization_pending` or `slow_down` before
 *   the user has decided
 */
export async function redeemDeviceCode(
  request: TokenRequest,
  deviceCode: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const grant = {
    what: 'The sign-in',
    type: 'urn:ietf:params:oauth:grant-type:device_code',
    parameters: { device_code: deviceCode },
    secrets: [deviceCode],
  }
  return tokenSetOf(request, await requestTokens(request, grant, transport), clock)
}

/**
 * Renews tokens (RFC 6749 section 6). The new set keeps the old refresh token if the response contains none.
 * @throws Failure of the network; `unauthorized` with code `invalid_grant` if the sign-in has ended
 */
export async function refreshTokens(
  tokens: TokenSet,
  refreshToken: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const server = { issuer: issuerOf(tokens), tokenEndpoint: tokens.token_endpoint }
  const scope = tokens.narrowed_scope
  const grant = {
    what: 'Renewing the sign-in',
    type: 'refresh_token',
    parameters: { refresh_token: refreshToken, ...(scope !== undefined && { scope }) },
    secrets: [refreshToken, tokens.access_token],
  }
  const answer = await requestTokens({ server, clientId: tokens.client_id }, grant, transport)
  const { obtained_at: _, expires_at: __, ...kept } = tokens
  return { ...kept, ...tokensOf(answer, clock.now()) }
}

/**
 * Exchanges a token for an access token. A refresh token is dropped.
 * @throws Failure of the network, or as `tokenFailure`
 */
export async function exchangeToken(
  request: TokenRequest,
  { parameters, ...grant }: Grant,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const { scope } = request
  const scoped = { ...grant, parameters: { ...parameters, ...(scope !== undefined && { scope }) } }
  const answer = await requestTokens(request, scoped, transport)
  const { refresh_token: _, ...tokens } = tokenSetOf(request, answer, clock)
  return tokens
}

export interface Grant {
  /** For messages. */
  what: string
  type: string
  parameters: Record<string, string>
  /** What no message may repeat. */
  secrets: readonly (string | undefined)[]
}

async function requestTokens(
  { server, clientId }: { server: Pick<AuthorizationServer, 'issuer' | 'tokenEndpoint'>; clientId?: string },
  { what, type, parameters, secrets }: Grant,
  transport: Transport,
): Promise<TokenEndpointResponse> {
  const { issuer, tokenEndpoint } = server
  const as = { issuer, token_endpoint: tokenEndpoint }
  const [client, authentication] = clientOf(clientId)
  return asFailure(what, tokenEndpoint, redactorOf(...secrets), async () => {
    const response = await genericTokenEndpointRequest(
      as,
      client,
      authentication,
      type,
      parameters,
      through(transport),
    )
    demandNoServerError(response)
    return demandUsable(
      await processGenericTokenEndpointResponse(as, client, await withoutInvalidMembers(response)),
    )
  })
}

/** A public client, or one whose ID the server has not told and does not receive. */
function clientOf(id: string | undefined): [Client, ClientAuth] {
  return id ? [{ client_id: id }, None()] : [{ client_id: 'unknown' }, () => {}]
}

/**
 * Revokes tokens, if the server has an endpoint for it (RFC 7009). Sends the refresh token if there is one, which
 * revokes the access token too.
 * @throws Failure unless the server confirmed it
 */
export async function revokeTokens(tokens: TokenSet, options: TransportOptions): Promise<void> {
  const { revocation_endpoint: endpoint } = tokens
  if (endpoint === undefined) return
  const as = { issuer: issuerOf(tokens), revocation_endpoint: endpoint }
  const token = tokens.refresh_token ?? tokens.access_token
  await asFailure('The revocation', endpoint, redactorOf(token), async () => {
    const hint = tokens.refresh_token === undefined ? 'access_token' : 'refresh_token'
    const response = await revocationRequest(as, ...clientOf(tokens.client_id), token, {
      ...through(createTransport(options)),
      additionalParameters: { token_type_hint: hint },
    })
    demandNoServerError(response)
    await processRevocationResponse(response)
  })
}

function tokenSetOf(
  { server, clientId, scope }: TokenRequest,
  answer: TokenEndpointResponse,
  clock: Clock,
): TokenSet {
  return {
    version: 1,
    kind: 'oauth',
    ...tokensOf(answer, clock.now()),
    ...(answer.scope === undefined && scope !== undefined ? { scope } : {}),
    client_id: clientId ?? '',
    issuer: server.issuer,
    token_endpoint: server.tokenEndpoint,
    ...(server.revocationEndpoint === undefined ? {} : { revocation_endpoint: server.revocationEndpoint }),
    ...(server.grantPerSignIn ? { grant_per_sign_in: true } : {}),
  }
}

export function issuerOf({ issuer, token_endpoint: endpoint }: TokenSet): string {
  return issuer ?? new URL(endpoint).origin
}

/** Some servers send these as null or empty instead of omitting them (RFC 6749 section 5.1). */
const optionalMembers = ['expires_in', 'refresh_token', 'scope']

/**
 * A 200 response without members for which oauth4webapi would reject a usable token. The ID token may be encrypted
 * or for another audience, and chatctl does not need it.
 */
async function withoutInvalidMembers(response: Response): Promise<Response> {
  if (response.status !== 200) return response
  const { status, headers } = response
  const text = await response.text()
  try {
    const { id_token: _, ...answer } = JSON.parse(text)
    for (const name of optionalMembers) if (answer[name] === null || answer[name] === '') delete answer[name]
    if (Array.isArray(answer.scope)) answer.scope = answer.scope.join(' ')
    return new Response(JSON.stringify(answer), { status, headers })
  } catch {
    return new Response(text, { status, headers })
  }
}

export function demandNoServerError({ status }: Response): void {
  if (status < 500 && status !== 429) return
  throw new UnusableResponse(`responded ${status}`, status === 429 ? 'rate_limited' : 'server_error', status)
}

/** Checks that oauth4webapi leaves to its callers: a bearer token, with characters that a header can contain. */
function demandUsable(answer: TokenEndpointResponse): TokenEndpointResponse {
  if (answer.token_type !== 'bearer')
    throw new UnusableResponse(`sent a token of type ${JSON.stringify(answer.token_type)}`)
  bearer(answer.access_token)
  if (answer.refresh_token !== undefined) bearer(answer.refresh_token)
  return answer
}

function tokensOf(answer: TokenEndpointResponse, now: number) {
  const lifetime = answer.expires_in
  return {
    access_token: answer.access_token,
    token_type: answer.token_type,
    ...(answer.refresh_token === undefined ? {} : { refresh_token: answer.refresh_token }),
    obtained_at: new Date(now).toISOString(),
    ...(lifetime === undefined ? {} : { expires_at: isoAfter(now, lifetime * 1_000) }),
    ...(answer.scope === undefined ? {} : { scope: answer.scope }),
  }
}
