import {
  discoveryRequest,
  type AuthorizationServer as Metadata,
  processDiscoveryResponse,
} from 'oauth4webapi'
import { optionalEndpoint, readBaseUrl, readEndpoint } from '../contract/base-url.ts'
import { Failure, type FailureKind } from '../contract/failure.ts'
import { withoutTrailing } from '../contract/notation/text.ts'
import { createTransport, type Transport, type TransportOptions, through } from './transport.ts'

export interface AuthorizationServer {
  /** Compared with the `iss` parameter (RFC 9207). */
  issuer: string
  /** Whether every authorization response contains `iss`. */
  sendsIssuer: boolean
  authorizationEndpoint: string
  tokenEndpoint: string
  /** RFC 7009. */
  revocationEndpoint: string | undefined
  /** The grants that the metadata lists; undefined if it lists none. */
  grantTypes: readonly string[] | undefined
  /** RFC 8628 section 4. */
  deviceAuthorizationEndpoint: string | undefined
  /** Whether revoking a token ends only this sign-in (docs/reference/service-oauth.md, "Endpoints"). */
  grantPerSignIn: boolean
}

/**
 * Finds the endpoints: the configured token endpoint, or else those in the metadata of the server (RFC 8414, or
 * OpenID Connect Discovery). If the metadata has no authorization endpoint, it is that of docs/interface.md,
 * "Authentication" 4.
 * @throws Failure `usage` if no token endpoint is known, `refused` for an unsafe address
 */
export async function findAuthorizationServer(
  authUrl: string,
  tokenUrl: string | undefined,
  transport: Transport,
): Promise<AuthorizationServer> {
  const base = readBaseUrl(authUrl, 'authorization URL')
  const documented = `${withoutTrailing(base.href, '/')}/oauth/authorize`
  if (tokenUrl !== undefined) {
    const tokenEndpoint = readEndpoint(tokenUrl, 'token URL')
    return {
      issuer: authUrl,
      sendsIssuer: false,
      authorizationEndpoint: documented,
      tokenEndpoint,
      revocationEndpoint: undefined,
      grantTypes: undefined,
      deviceAuthorizationEndpoint: undefined,
      grantPerSignIn: false,
    }
  }
  const metadata =
    (await readMetadata(base, 'oauth2', transport)) ?? (await readMetadata(base, 'oidc', transport))
  if (!metadata?.token_endpoint) {
    throw new Failure('usage', `The token endpoint of ${base.origin} is unknown`, {
      hint: 'Set its token endpoint with --token-url, or use an API key with --with-api-key.',
    })
  }
  return {
    issuer: metadata.issuer,
    sendsIssuer: metadata.authorization_response_iss_parameter_supported === true,
    authorizationEndpoint: readEndpoint(
      metadata.authorization_endpoint ?? documented,
      'authorization endpoint in the metadata',
      base,
    ),
    tokenEndpoint: readEndpoint(metadata.token_endpoint, 'token endpoint', base),
    // Without a usable one, signing out deletes the tokens and does not revoke them.
    revocationEndpoint: optionalEndpoint(metadata.revocation_endpoint, base),
    grantTypes: Array.isArray(metadata.grant_types_supported) ? metadata.grant_types_supported : undefined,
    deviceAuthorizationEndpoint: optionalEndpoint(metadata.device_authorization_endpoint, base),
    grantPerSignIn: metadata['chatctl_grant_per_sign_in'] === true,
  }
}

/** The OAuth client ID for a service that is its own authorization server. */
export const defaultClientId = 'chatctl'

/** Maximum timeout in ms of the request for metadata in `servesSignIn`. */
const maxMetadataTimeout = 10_000

/** After these failures, no sign-in is possible. */
const unreachable: ReadonlySet<FailureKind> = new Set(['unreachable', 'timeout', 'tls', 'rate_limited'])

/**
 * Whether a service is its own authorization server: its metadata (RFC 8414) is at its base URL and has its
 * issuer.
 * @throws Failure if the service cannot be reached
 */
export async function servesSignIn(baseUrl: string, options: TransportOptions): Promise<boolean> {
  const timeout = Math.min(options.timeout ?? maxMetadataTimeout, maxMetadataTimeout)
  const transport = createTransport({ ...options, retries: 0, timeout })
  try {
    const metadata = await readMetadata(readBaseUrl(baseUrl), 'oauth2', transport)
    return metadata?.token_endpoint !== undefined
  } catch (error) {
    if (error instanceof Failure && !unreachable.has(error.kind)) return false
    throw error
  }
}

/**
 * Reads the metadata document.
 * @returns undefined if the server has none
 * @throws Failure of the network, `refused` for a document that cannot be trusted
 */
async function readMetadata(
  base: URL,
  algorithm: 'oauth2' | 'oidc',
  transport: Transport,
): Promise<Metadata | undefined> {
  const response = await discoveryRequest(base, { algorithm, ...through(transport) })
  const { status } = response
  if (status === 429 || status >= 500) {
    const words = `Cannot read the metadata of ${base.origin}: it responded ${status}`
    throw new Failure(status === 429 ? 'rate_limited' : 'server_error', words, {
      status,
      hint: 'Try again later.',
    })
  }
  if (status !== 200) return undefined
  const document = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { issuer?: unknown } | null | undefined
  // Some servers respond with a page to every path.
  if (document === undefined) return undefined
  try {
    return await processDiscoveryResponse(issuerOf(document?.issuer, base), response)
  } catch (cause) {
    const isForeign = (cause as { code?: unknown }).code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'
    const why = isForeign
      ? `it names another issuer, ${String(document?.issuer).slice(0, 200)}`
      : (cause as Error).message
    throw new Failure('refused', `The metadata of ${base.origin} is invalid: ${why}`, {
      hint: 'Check that the authorization URL is exactly the issuer in the metadata of the server, or set --token-url.',
      cause,
    })
  }
}

/** The expected issuer. A trailing slash may differ, because it is easily added or lost. */
function issuerOf(named: unknown, base: URL): URL {
  if (typeof named !== 'string' || !URL.canParse(named)) return base
  const bare = (url: string) => withoutTrailing(url, '/')
  const issuer = new URL(named)
  return bare(issuer.href) === bare(base.href) ? issuer : base
}
