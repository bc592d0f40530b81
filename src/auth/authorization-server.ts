import {
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  type AuthorizationServer as Metadata,
  processDiscoveryResponse,
} from 'oauth4webapi'
import { readBaseUrl, readEndpoint } from '../contract/base-url.ts'
import { Failure, type FailureKind } from '../contract/failure.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

/** Where the parts of a sign-in happen. */
export interface AuthorizationServer {
  /** Its identifier, for `iss` (RFC 9207). */
  issuer: string
  /** Whether every answer of it carries `iss`. */
  sendsIssuer: boolean
  authorizationEndpoint: string
  tokenEndpoint: string
  /** RFC 7009. */
  revocationEndpoint: string | undefined
  /** The metadata says that revoking a token ends one sign-in alone (docs/reference/service-oauth.md, "Endpoints"). */
  grantPerSignIn: boolean
}

/**
 * Finds the endpoints: the configured token endpoint, else those that the server's own metadata
 * names (RFC 8414, or the document of OpenID Connect). Without a name for it, the authorization
 * endpoint is the one of docs/interface.md, "Authentication" 4.
 *
 * @throws Failure `usage` where no token endpoint is known, `refused` for an address that is not safe
 */
export async function findAuthorizationServer(
  authUrl: string,
  tokenUrl: string | undefined,
  transport: Transport,
): Promise<AuthorizationServer> {
  const base = readBaseUrl(authUrl, 'authorization URL')
  const documented = `${base.href.replace(/\/+$/, '')}/oauth/authorize`
  if (tokenUrl !== undefined) {
    const tokenEndpoint = readEndpoint(tokenUrl, 'token URL')
    return {
      issuer: authUrl,
      sendsIssuer: false,
      authorizationEndpoint: documented,
      tokenEndpoint,
      revocationEndpoint: undefined,
      grantPerSignIn: false,
    }
  }
  const metadata =
    (await readMetadata(base, 'oauth2', transport)) ?? (await readMetadata(base, 'oidc', transport))
  if (!metadata?.token_endpoint) {
    throw new Failure('usage', `The token endpoint of ${base.origin} is unknown`, {
      advice: [{ code: 'name_token_endpoint' }],
    })
  }
  return {
    issuer: metadata.issuer,
    sendsIssuer: metadata.authorization_response_iss_parameter_supported === true,
    authorizationEndpoint: readEndpoint(
      metadata.authorization_endpoint ?? documented,
      'authorization endpoint in the metadata',
    ),
    tokenEndpoint: readEndpoint(metadata.token_endpoint, 'token endpoint'),
    revocationEndpoint: optionalEndpoint(metadata.revocation_endpoint),
    grantPerSignIn: metadata['chatctl_grant_per_sign_in'] === true,
  }
}

/** The client id of programs like this one at a service that signs people in by itself. */
export const standardClientId = 'chatctl'

/** The maximum time, in ms, in which a service says whether it signs people in. */
const maximumQuestion = 10_000

/** No sign-in can come of these, whoever is asked. */
const hopeless: ReadonlySet<FailureKind> = new Set(['unreachable', 'timeout', 'tls'])

/**
 * Whether a service is its own authorization server: whether its metadata (RFC 8414) are at its
 * base URL, and name it.
 * @throws Failure where the service cannot be reached
 */
export async function servesSignIn(baseUrl: string, options: TransportOptions): Promise<boolean> {
  const timeout = Math.min(options.timeout ?? maximumQuestion, maximumQuestion)
  const transport = createTransport({ ...options, retries: 0, timeout })
  try {
    const metadata = await readMetadata(readBaseUrl(baseUrl), 'oauth2', transport)
    return metadata?.token_endpoint !== undefined
  } catch (error) {
    if (error instanceof Failure && !hopeless.has(error.kind)) return false
    throw error
  }
}

/** Without one that can be used, signing out forgets and does not revoke: no reason not to sign in. */
function optionalEndpoint(address: unknown): string | undefined {
  try {
    return readEndpoint(address, 'revocation endpoint')
  } catch {
    return undefined
  }
}

/**
 * The metadata document, or undefined where the server has none.
 * @throws Failure of the network, `refused` for a document that cannot be trusted
 */
async function readMetadata(
  base: URL,
  algorithm: 'oauth2' | 'oidc',
  transport: Transport,
): Promise<Metadata | undefined> {
  const response = await discoveryRequest(base, {
    algorithm,
    [customFetch]: transport,
    // The address was judged before: http:// only to this machine.
    [allowInsecureRequests]: true,
  })
  const { status } = response
  if (status >= 500) throw new Failure('server_error', `${base.origin} responded ${status}`, { status })
  if (status !== 200) return undefined
  const document = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { issuer?: unknown } | null | undefined
  // A server that has a page for every path has none for this one.
  if (document === undefined) return undefined
  try {
    return await processDiscoveryResponse(issuerOf(document?.issuer, base), response)
  } catch (cause) {
    throw new Failure(
      'refused',
      `The metadata of ${base.origin} is invalid: ${wordsOf(cause, document?.issuer)}`,
      {
        advice: [{ code: 'name_issuer' }],
        cause,
      },
    )
  }
}

/** The issuer that is expected; a slash at its end is easily added to an address, and easily lost. */
function issuerOf(named: unknown, base: URL): URL {
  if (typeof named !== 'string' || !URL.canParse(named)) return base
  const bare = (url: string) => url.replace(/\/+$/, '')
  const issuer = new URL(named)
  return bare(issuer.href) === bare(base.href) ? issuer : base
}

/** oauth4webapi speaks of its own parameters. */
function wordsOf(cause: unknown, issuer: unknown): string {
  const { code, message } = cause as Error & { code?: string }
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    return `it names another issuer, ${String(issuer).slice(0, 200)}`
  }
  if (code === 'OAUTH_RESPONSE_IS_NOT_JSON') return 'its Content-Type is not JSON'
  return message.replace('"response" body ', '')
}
