import { scopes } from './scopes.ts'

/** The only client: `chatctl` on a user's machine, a public client (RFC 8252). */
export const clientId = 'chatctl'

/** The paths of the OAuth server. docs/interface.md, "Authentication" 4, defines the first. */
export const paths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  deviceAuthorization: '/oauth/device_authorization',
  revoke: '/oauth/revoke',
  metadata: '/.well-known/oauth-authorization-server',
  signIn: '/sign-in',
  account: '/account',
  /** Where a user enters a user code. */
  device: '/device',
} as const

/** RFC 8628 section 3.4. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 8414 section 2. */
export function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: issuer + paths.authorize,
    token_endpoint: issuer + paths.token,
    revocation_endpoint: issuer + paths.revoke,
    device_authorization_endpoint: issuer + paths.deviceAuthorization,
    scopes_supported: Object.keys(scopes),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', deviceGrantType, ...identityGrants],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    // An extension (RFC 8414 section 2): revoking a token ends the sign-in that it came from, and no other.
    chatctl_grant_per_sign_in: true,
    // POST /v1/chat/completions streams its reply if the header Accept asks for events.
    chatctl_streamed_completions: true,
  }
}

/** RFC 8693. */
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The grants of identity tokens. The second is RFC 6749 section 4.4 with the client assertion of RFC 7523. */
export const identityGrants: readonly string[] = [tokenExchange, 'client_credentials']
