import type { Advice } from '../contract/advice.ts'
import { Failure } from '../contract/failure.ts'
import { type AuthorizationServer, defaultClientId, findAuthorizationServer } from './authorization-server.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import {
  type IdentityClaims,
  type IdentityRequest,
  obtainIdentityToken,
  readClaims,
} from './identity-token.ts'
import { exchangeIdentityToken, type IdentityExchange } from './token-endpoint.ts'
import { createTransport } from './transport.ts'

export interface ExchangeOptions extends IdentityRequest {
  /** The service that the access token is for. */
  baseUrl: string
  /** The authorization server (default: the service itself). */
  authUrl: string | undefined
  /** The configured token endpoint, if any. */
  tokenUrl: string | undefined
  clientId: string | undefined
  scope: string | undefined
}

/**
 * Obtains the identity token of this CI job, and exchanges it for an access token.
 *
 * @throws Failure `unauthorized` if there is no identity token or the server refuses it; `refused` for a token endpoint
 *   that must not receive it; a failure of the network
 */
export async function exchangeIdentity(options: ExchangeOptions): Promise<TokenSet> {
  const { authUrl = options.baseUrl, tokenUrl, scope } = options
  const transport = createTransport(options.transport)
  // First, because a job without the right to a token needs no server to fail.
  const token = await obtainIdentityToken(options)
  const server = await findServer(authUrl, tokenUrl, options)
  const isSelf = options.authUrl === undefined && tokenUrl === undefined
  const clientId = options.clientId ?? (isSelf ? defaultClientId : undefined)
  const grant = chooseGrant(server, token, clientId)
  try {
    const exchange = { server, clientId, scope, ...grant }
    return await exchangeIdentityToken(exchange, token, transport, options.transport.clock)
  } catch (error) {
    throw error instanceof Failure && error.kind === 'unauthorized'
      ? withClaims(error, token, options, isSelf)
      : error
  }
}

/** The identity token goes only to the origin that was configured: the metadata may have been changed by others. */
async function findServer(
  authUrl: string,
  tokenUrl: string | undefined,
  { transport }: ExchangeOptions,
): Promise<AuthorizationServer> {
  const server = await findAuthorizationServer(authUrl, tokenUrl, createTransport(transport)).catch(
    (error: unknown) => {
      if (!(error instanceof Failure) || error.kind !== 'usage') throw error
      throw error.reworded(error.message, { advice: [{ code: 'token_endpoint_of_exchange' }] })
    },
  )
  const { origin } = new URL(tokenUrl ?? authUrl)
  const { tokenEndpoint } = server
  if (new URL(tokenEndpoint).origin === origin) return server
  throw new Failure(
    'refused',
    `The metadata of ${origin} names a token endpoint of another origin, ${tokenEndpoint}, so it does not receive the identity token`,
    { advice: [{ code: 'foreign_token_endpoint', tokenEndpoint }] },
  )
}

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** Token exchange (RFC 8693), or the token as a client assertion (RFC 7523 section 2.2) if only that is offered. */
function chooseGrant(
  { grantTypes, tokenEndpoint }: AuthorizationServer,
  token: string,
  clientId: string | undefined,
): Pick<IdentityExchange, 'grantType' | 'parameters'> {
  const type = 'urn:ietf:params:oauth:token-type'
  if (grantTypes === undefined || grantTypes.includes(tokenExchange)) {
    const parameters = {
      subject_token: token,
      subject_token_type: `${type}:id_token`,
      requested_token_type: `${type}:access_token`,
    }
    return { grantType: tokenExchange, parameters }
  }
  const { origin } = new URL(tokenEndpoint)
  if (!grantTypes.includes('client_credentials')) {
    throw new Failure('unauthorized', `${origin} does not exchange identity tokens for access tokens`, {
      code: 'unsupported_grant_type',
    })
  }
  if (clientId === undefined) {
    throw new Failure('unauthorized', `${origin} takes an identity token only from a client with an ID`, {
      advice: [{ code: 'client_id_of_exchange' }],
    })
  }
  const assertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  return {
    grantType: 'client_credentials',
    parameters: { client_assertion_type: assertion, client_assertion: token },
  }
}

/** Says whose the refused token is. Its claims are no secret, unlike the token. */
function withClaims(failure: Failure, token: string, options: ExchangeOptions, isSelf: boolean): Failure {
  const claims = readClaims(token)
  if (!claims) return failure
  const said = Object.entries(claims).map(([name, value]) => `${name} ${value ?? 'missing'}`)
  const { hint, advice } = failure
  return failure.reworded(`${failure.message} (identity token: ${said.join(', ')})`, {
    hint,
    advice: isSelf && failure.code !== 'invalid_scope' ? [...advice, ...adviseOn(claims, options)] : advice,
  })
}

/** What may help if the service itself has refused a token with these claims. */
function adviseOn(
  { iss: issuer, sub: subject, aud, exp }: IdentityClaims,
  { audience, transport }: ExchangeOptions,
): Advice[] {
  if (exp !== null && Date.parse(exp) <= transport.clock.now()) return [{ code: 'expired_identity_token' }]
  if (issuer === null || subject === null || aud === null) return []
  // To trust another audience would be to accept the tokens that a job has for another service.
  if (!aud.split(' ').includes(audience)) return [{ code: 'audience_of_identity_token', audience }]
  return [{ code: 'trust_issuer', issuer, subject, audience }]
}
