import { generateKeyPairSync } from 'node:crypto'
import Provider, {
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { Clock } from '../../system/clock.ts'
import { findEnabledUser } from '../domain/users.ts'
import type { Database } from '../store/tables.ts'
import { createAdapters } from './adapter.ts'
import { BrowserInteractions } from './browser/browser-interactions.ts'
import { lifetimes, sessionLifetime } from './lifetimes.ts'
import { clientId, deviceGrantType, paths } from './metadata.ts'
import { scopes, unknownScopes } from './scopes.ts'

interface ProviderParts {
  db: Database
  /** An origin. */
  issuer: string
  /** Signs cookies; the same one in all processes. */
  cookieKey: string
  removeExpired: () => void
  clock: Clock
  /** Checks a device authorization request. Throws an error of OAuth to refuse it. */
  admitDeviceRequest: (ctx: KoaContextWithOIDC) => object
  renderError: Configuration['renderError']
}

/** Sets every option for which oidc-provider would otherwise print a warning on stdout. */
export function createProvider(parts: ProviderParts): Provider {
  const { db, issuer, cookieKey, removeExpired, clock, admitDeviceRequest, renderError } = parts
  const isSecure = issuer.startsWith('https:')
  // Cookies do not depend on the port, so two services on one machine need different names.
  const { port } = new URL(issuer)
  const name = port === '' ? 'chatctl' : `chatctl-${port}`
  const prefix = isSecure ? '__Secure-' : ''
  const browsers = new BrowserInteractions(cookieKey, `${prefix}${name}-request`, isSecure, clock)
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true, path: '/' } as const
  const provider = new Provider(issuer, {
    adapter: createAdapters(db, clock, browsers, removeExpired),
    clients: [client],
    clientBasedCORS: () => false,
    cookies: {
      keys: [cookieKey],
      // `__Host-` requires the path `/` (RFC 6265bis section 4.1.3.2); an interaction has a longer one.
      names: {
        session: isSecure ? `__Host-${name}` : name,
        interaction: `${prefix}${name}-sign-in`,
        resume: `${prefix}${name}-resume`,
      },
      long: cookie,
      short: { ...cookie, path: undefined },
    },
    expiresWithSession: () => false,
    features: {
      // The pages of oidc-provider are not used: see device.ts.
      deviceFlow: { enabled: true, deviceInfo: (ctx) => ({ ...admitDeviceRequest(ctx) }) },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, { clientId }, token) => token.clientId === clientId },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    findAccount: async (_, accountId) => {
      const user = await findEnabledUser(db, accountId)
      return user && { accountId, claims: () => ({ sub: accountId }) }
    },
    interactions: { policy: createPolicy(), url: (_, { uid }) => `${paths.signIn}/${uid}` },
    issueRefreshToken: () => true,
    // Required, but nothing is signed with it: there are no ID tokens.
    jwks: { keys: [signingKey()] },
    pkce: { required: () => true },
    renderError,
    responseTypes: ['code'],
    revokeGrantPolicy: () => true,
    rotateRefreshToken: true,
    routes: {
      authorization: paths.authorize,
      token: paths.token,
      revocation: paths.revoke,
      device_authorization: paths.deviceAuthorization,
      code_verification: paths.device,
    },
    scopes: Object.keys(scopes),
    ttl: { ...lifetimes, Session: (_, { loginTs }) => sessionLifetime(loginTs) },
  })
  // It may trust the proxy headers: `setIssuerHeaders` sets them for each request.
  provider.proxy = true
  provider.use(keepCorsHeaders)
  return provider
}

/**
 * Keeps the CORS headers that the service has set. oidc-provider would allow every page to read a response
 * if it knows no client.
 */
async function keepCorsHeaders({ response }: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  const isShared = response.headers['access-control-allow-origin'] !== undefined
  await next()
  if (isShared) return
  response.remove('access-control-allow-origin')
  response.remove('access-control-expose-headers')
}

/** A loopback redirect URI allows any port (RFC 8252 section 7.3). */
const client = {
  client_id: clientId,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token', deviceGrantType],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  id_token_signed_response_alg: 'ES256',
} as const

function signingKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'unused', kty: 'EC' } as const
}

/** oidc-provider ignores unknown scopes. This check refuses them (RFC 6749 section 4.1.2.1). */
function createPolicy() {
  const policy = interactionPolicy.base()
  const requireKnownScopes = new interactionPolicy.Check('known_scopes', 'scopes are known', (ctx) => {
    // The parameters of oidc-provider contain only the scopes that it knows.
    const unknown = unknownScopes(String(ctx.query['scope'] ?? ''))
    if (unknown.length === 0) return interactionPolicy.Check.NO_NEED_TO_PROMPT
    throw new errors.InvalidScope(`unknown scope ${unknown.join(', ')}`, unknown.join(' '))
  })
  policy.get('login')?.checks.add(requireKnownScopes, 0)
  return policy
}
