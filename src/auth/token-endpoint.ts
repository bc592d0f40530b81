import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  customFetch,
  deviceCodeGrantRequest,
  genericTokenEndpointRequest,
  None,
  nopkce,
  processAuthorizationCodeResponse,
  processDeviceCodeResponse,
  processGenericTokenEndpointResponse,
  processRefreshTokenResponse,
  processRevocationResponse,
  refreshTokenGrantRequest,
  revocationRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { redactorOf } from '../client/redaction.ts'
import { bearer } from '../contract/bearer.ts'
import type { Clock } from '../system/clock.ts'
import type { AuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import { asFailure } from './token-failure.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

/** The data of a code exchange, except the code. */
export interface CodeExchange {
  server: AuthorizationServer
  clientId: string
  /** Exactly as in the authorization request. */
  redirectUri: string
  /** PKCE (RFC 7636); undefined if it is off. */
  verifier: string | undefined
  /** The requested scope. The server may grant less. */
  scope: string | undefined
}

/**
 * Exchanges a code for tokens (RFC 6749 section 4.1.3), as a public client without a secret.
 *
 * @throws Failure of the network, or as `tokenFailure`
 */
export async function exchangeCode(
  exchange: CodeExchange,
  { code, state }: { code: string; state: string },
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const { server, clientId, redirectUri, verifier } = exchange
  const [as, client] = [
    { issuer: server.issuer, token_endpoint: server.tokenEndpoint },
    publicClient(clientId),
  ]
  const callback = validateAuthResponse(as, client, new URLSearchParams({ code, state }), state)
  const redact = redactorOf(code, verifier)
  const answer = await asFailure('The sign-in', server.tokenEndpoint, redact, async () => {
    const response = await authorizationCodeGrantRequest(
      as,
      client,
      None(),
      callback,
      redirectUri,
      verifier ?? nopkce,
      through(transport),
    )
    demandNoServerError(response)
    return demandUsable(
      await processAuthorizationCodeResponse(as, client, await withoutInvalidMembers(response)),
    )
  })
  return tokenSetOf(exchange, answer, clock)
}

/**
 * Asks for the tokens of a device code (RFC 8628 section 3.4), as a public client without a secret.
 *
 * @throws Failure of the network, or as `tokenFailure`: with code `authorization_pending` or `slow_down` before
 *   the user has decided
 */
export async function redeemDeviceCode(
  exchange: Pick<CodeExchange, 'server' | 'clientId' | 'scope'>,
  deviceCode: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const { server, clientId } = exchange
  const [as, client] = [
    { issuer: server.issuer, token_endpoint: server.tokenEndpoint },
    publicClient(clientId),
  ]
  const answer = await asFailure('The sign-in', server.tokenEndpoint, redactorOf(deviceCode), async () => {
    const response = await deviceCodeGrantRequest(as, client, None(), deviceCode, through(transport))
    demandNoServerError(response)
    return demandUsable(await processDeviceCodeResponse(as, client, await withoutInvalidMembers(response)))
  })
  return tokenSetOf(exchange, answer, clock)
}

/**
 * Renews tokens (RFC 6749 section 6). The new set keeps the old refresh token if the response contains none.
 *
 * @throws Failure of the network; `unauthorized` with code `invalid_grant` if the sign-in has ended
 */
export async function refreshTokens(
  tokens: TokenSet,
  refreshToken: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const [as, client] = [
    { issuer: issuerOf(tokens), token_endpoint: tokens.token_endpoint },
    publicClient(tokens.client_id),
  ]
  const redact = redactorOf(refreshToken, tokens.access_token)
  const answer = await asFailure('Renewing the sign-in', tokens.token_endpoint, redact, async () => {
    const response = await refreshTokenGrantRequest(as, client, None(), refreshToken, {
      ...through(transport),
      additionalParameters: tokens.narrowed_scope === undefined ? {} : { scope: tokens.narrowed_scope },
    })
    demandNoServerError(response)
    return demandUsable(await processRefreshTokenResponse(as, client, await withoutInvalidMembers(response)))
  })
  const { obtained_at: _, expires_at: __, ...kept } = tokens
  return { ...kept, ...tokensOf(answer, clock.now()) }
}

/**
 * Revokes tokens, if the server has an endpoint for it (RFC 7009). Sends the refresh token if there is one, which
 * revokes the access token too.
 *
 * @throws Failure unless the server confirmed it
 */
export async function revokeTokens(tokens: TokenSet, options: TransportOptions): Promise<void> {
  const { revocation_endpoint: endpoint } = tokens
  if (endpoint === undefined) return
  const as = { issuer: issuerOf(tokens), revocation_endpoint: endpoint }
  const token = tokens.refresh_token ?? tokens.access_token
  await asFailure('The revocation', endpoint, redactorOf(token), async () => {
    const hint = tokens.refresh_token === undefined ? 'access_token' : 'refresh_token'
    const response = await revocationRequest(as, publicClient(tokens.client_id), None(), token, {
      ...through(createTransport(options)),
      additionalParameters: { token_type_hint: hint },
    })
    demandNoServerError(response)
    await processRevocationResponse(response)
  })
}

/** How an identity token is sent for an access token. */
export interface IdentityExchange {
  server: AuthorizationServer
  grantType: string
  /** Of the grant. They contain the identity token. */
  parameters: Record<string, string>
  /** Undefined if the server has not named one to us. */
  clientId: string | undefined
  /** The requested scope. The server may grant less. */
  scope: string | undefined
}

/**
 * Exchanges an identity token for an access token, as a public client. A refresh token is dropped.
 *
 * @throws Failure of the network, or as `tokenFailure`
 */
export async function exchangeIdentityToken(
  { server, grantType, parameters, clientId, scope }: IdentityExchange,
  identityToken: string,
  transport: Transport,
  clock: Clock,
): Promise<TokenSet> {
  const as = { issuer: server.issuer, token_endpoint: server.tokenEndpoint }
  const client = publicClient(clientId ?? 'unknown')
  const redact = redactorOf(identityToken)
  const answer = await asFailure(
    'The exchange of the identity token',
    server.tokenEndpoint,
    redact,
    async () => {
      const response = await genericTokenEndpointRequest(
        as,
        client,
        clientId === undefined ? () => {} : None(),
        grantType,
        { ...parameters, ...(scope === undefined ? {} : { scope }) },
        through(transport),
      )
      demandNoServerError(response)
      return demandUsable(
        await processGenericTokenEndpointResponse(as, client, await withoutInvalidMembers(response)),
      )
    },
  )
  const { refresh_token: _, ...tokens } = tokenSetOf(
    { server, clientId: clientId ?? '', scope },
    answer,
    clock,
  )
  return tokens
}

function tokenSetOf(
  { server, clientId, scope }: Pick<CodeExchange, 'server' | 'clientId' | 'scope'>,
  answer: TokenEndpointResponse,
  clock: Clock,
): TokenSet {
  return {
    version: 1,
    kind: 'oauth',
    ...tokensOf(answer, clock.now()),
    ...(answer.scope === undefined && scope !== undefined ? { scope } : {}),
    client_id: clientId,
    issuer: server.issuer,
    token_endpoint: server.tokenEndpoint,
    ...(server.revocationEndpoint === undefined ? {} : { revocation_endpoint: server.revocationEndpoint }),
    ...(server.grantPerSignIn ? { grant_per_sign_in: true } : {}),
  }
}

function issuerOf({ issuer, token_endpoint: endpoint }: TokenSet): string {
  return issuer ?? new URL(endpoint).origin
}

export function publicClient(clientId: string): Client {
  return { client_id: clientId }
}

/** The addresses were checked when they were configured: plain HTTP only to this machine. */
export function through(transport: Transport) {
  return { [customFetch]: transport, [allowInsecureRequests]: true }
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

class ServerError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`answered ${status}`)
    this.status = status
  }
}

export function demandNoServerError({ status }: Response): void {
  if (status >= 500 || status === 429) throw new ServerError(status)
}

/** Checks that oauth4webapi leaves to its callers: a bearer token, with characters that a header can contain. */
function demandUsable(answer: TokenEndpointResponse): TokenEndpointResponse {
  if (answer.token_type !== 'bearer')
    throw new TypeError(`a token of type ${JSON.stringify(answer.token_type)}`)
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
    ...(lifetime === undefined ? {} : { expires_at: dateAfter(now, lifetime) }),
    ...(answer.scope === undefined ? {} : { scope: answer.scope }),
  }
}

/** A lifetime beyond the range of dates is limited to it. */
function dateAfter(now: number, seconds: number): string {
  return new Date(Math.min(now + seconds * 1_000, Date.UTC(9999, 0))).toISOString()
}
