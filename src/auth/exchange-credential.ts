import { Failure } from '../contract/failure.ts'
import { type StoredCredential, secretOf, type TokenSet } from './credentials/stored-credential.ts'
import {
  cannotExchange,
  type ExchangeTarget,
  exchangeParameters,
  findServer,
  tokenExchange,
} from './exchange-identity.ts'
import { exchangeToken, issuerOf } from './token-endpoint.ts'
import { createTransport } from './transport.ts'

/**
 * Exchanges a credential for an access token with at most its permissions (RFC 8693).
 * @param credential what a profile is signed in with, or another secret
 * @param permissions empty for all
 * @param lifetime in ms
 * @throws Failure `unauthorized` if the server refuses it or has no token exchange; a failure of the network
 */
export async function exchangeCredential(
  credential: StoredCredential | string,
  permissions: readonly string[],
  lifetime: number,
  target: ExchangeTarget,
): Promise<TokenSet> {
  const { transport } = target
  const secret = typeof credential === 'string' ? credential : secretOf(credential)
  const { server, clientId } = await chooseServer(credential, target)
  // An extension (docs/reference/service-oauth.md). A server ignores a parameter that it does not know.
  const seconds = { requested_expires_in: String(Math.ceil(lifetime / 1_000)) }
  const parameters = { ...exchangeParameters(secret, 'access_token'), ...seconds }
  const grant = { what: 'The token exchange', type: tokenExchange, parameters, secrets: [secret] }
  const request = { server, clientId, scope: permissions.join(' ') || undefined }
  try {
    return await exchangeToken(request, grant, createTransport(transport), transport.clock)
  } catch (error) {
    const isUnsupported = error instanceof Failure && error.code === 'unsupported_grant_type'
    throw isUnsupported ? cannotExchange(server, 'credentials') : error
  }
}

/** The server of a sign-in is part of it. */
async function chooseServer(credential: StoredCredential | string, target: ExchangeTarget) {
  if (typeof credential === 'object' && credential.kind === 'oauth') {
    const { token_endpoint: tokenEndpoint, revocation_endpoint: revocationEndpoint } = credential
    const server = { issuer: issuerOf(credential), tokenEndpoint, revocationEndpoint, grantPerSignIn: false }
    return { server, clientId: credential.client_id }
  }
  const { server, clientId } = await findServer(target, 'credential')
  if (server.grantTypes?.includes(tokenExchange) === false) throw cannotExchange(server, 'credentials')
  return { server, clientId }
}
