import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import {
  answer,
  type Behavior,
  json,
  type RecordedRequest,
  redirect,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts'

/** Where OpenID Connect Discovery puts the metadata. */
export const openIdMetadata = '/.well-known/openid-configuration'

/** The script of the server. A test can replace each part while the server runs. */
interface AuthorizationScript {
  /** The behaviors of the token endpoint in turn, the last for all later requests. */
  token: Behavior[]
  /** The behavior of the device authorization endpoint. Without one, the metadata does not name it. */
  device: Behavior | undefined
  /** The behavior of the revocation endpoint. */
  revoke: Behavior
  /** Changes the query of the redirect, which already has a state and a code. */
  redirectBack(query: URLSearchParams, authorization: URLSearchParams): void
  /** The path of the metadata. */
  metadataPath: string
  /** Changes the metadata (RFC 8414 section 2) before it is sent. Undefined means 404. */
  metadata(document: Record<string, unknown>): Record<string, unknown> | undefined
}

export interface AuthorizationServer extends ScriptedServer {
  clientId: string
  script: AuthorizationScript
  /** Queries of the authorization requests. */
  authorizations: URLSearchParams[]
  /** Forms sent to the token endpoint. */
  tokenRequests: URLSearchParams[]
  /** Forms sent to the device authorization endpoint. */
  deviceRequests: URLSearchParams[]
  /** Forms sent to the revocation endpoint. */
  revocations: URLSearchParams[]
  /** The forms sent to the token endpoint to refresh a token. */
  refreshes(): URLSearchParams[]
  /** Access tokens that `tokens` issued and that are still valid. */
  live: Set<string>
  /** New tokens, like those of a sign-in. */
  issue(): { access_token: string; refresh_token: string }
  /** A successful response with new tokens and the fields of `more`. Undefined omits a field. */
  tokens(more?: Record<string, unknown>): Behavior
  /** The keys that it publishes at `/jwks`. A test may change them. */
  published: object[]
  /** Publishes a new key instead of the others, and signs with it. */
  rotate(): Promise<void>
  /** Signs the claims of an identity token, like a CI system. By default, the token is valid for 5 minutes. */
  sign(claims: JWTPayload): Promise<string>
}

interface AuthorizationServerOptions {
  /** The path of its issuer, such as `/tenant`. */
  tenant?: string
  /** Default: that of RFC 8414. */
  metadataPath?: string
  /** The time of identity tokens, in ms. */
  now?: () => number
}

/**
 * Starts an authorization server that needs no user and follows a script, for behavior that a real
 * server never shows. Its URL is the issuer, and the value of --auth-url. See README.md.
 */
export async function startAuthorizationServer({
  tenant = '',
  metadataPath = `/.well-known/oauth-authorization-server${tenant}`,
  now = Date.now,
}: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const authorizations: URLSearchParams[] = []
  const tokenRequests: URLSearchParams[] = []
  const deviceRequests: URLSearchParams[] = []
  const revocations: URLSearchParams[] = []
  const live = new Set<string>()
  let made = 0
  const issue: AuthorizationServer['issue'] = () => {
    const accessToken = `access-token-${++made}`
    live.add(accessToken)
    return { access_token: accessToken, refresh_token: `refresh-token-${made}` }
  }
  const tokens: AuthorizationServer['tokens'] = (more = {}) => {
    return (request, response, incoming) => {
      const body = { ...issue(), token_type: 'Bearer', expires_in: 3600, ...more }
      live.add(body.access_token)
      return json(200, body, { 'cache-control': 'no-store' })(request, response, incoming)
    }
  }
  const script: AuthorizationScript = {
    token: [tokens()],
    device: undefined,
    revoke: answer(200),
    redirectBack: () => {},
    metadataPath,
    metadata: (document) => document,
  }

  const authorize = (asked: URLSearchParams): Behavior => {
    authorizations.push(asked)
    const back = new URL(asked.get('redirect_uri') ?? '')
    back.searchParams.set('code', `code-${authorizations.length}`)
    back.searchParams.set('state', asked.get('state') ?? '')
    script.redirectBack(back.searchParams, asked)
    return redirect(302, back.href)
  }
  const token = (request: RecordedRequest): Behavior => {
    tokenRequests.push(new URLSearchParams(request.body))
    const [next = answer(500), ...others] = script.token
    if (others.length > 0) script.token = others
    return next
  }
  const describe = (): Behavior => {
    const document = script.metadata({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/oauth/token`,
      revocation_endpoint: `${url}/oauth/revoke`,
      jwks_uri: `${url}/jwks`,
      ...(script.device && { device_authorization_endpoint: `${url}/oauth/device_authorization` }),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    })
    return document ? json(200, document) : answer(404)
  }

  const server = await startScriptedServer({
    choose: (request) => {
      const { pathname, searchParams } = new URL(request.path, 'http://server')
      if (pathname === script.metadataPath) return describe()
      switch (pathname.startsWith(tenant) ? pathname.slice(tenant.length) : undefined) {
        case '/oauth/authorize':
          return authorize(searchParams)
        case '/oauth/token':
          return token(request)
        case '/oauth/device_authorization':
          deviceRequests.push(new URLSearchParams(request.body))
          return script.device ?? answer(404)
        case '/oauth/revoke':
          revocations.push(new URLSearchParams(request.body))
          return script.revoke
        case '/jwks':
          return json(200, { keys: issuer.published })
        default:
          return answer(404)
      }
    },
  })
  const url = server.url + tenant
  let signing = await createKey('key-1')
  let rotations = 1
  const issuer: AuthorizationServer = Object.assign(server, {
    url,
    clientId: 'scripted-client',
    script,
    authorizations,
    tokenRequests,
    deviceRequests,
    revocations,
    refreshes: () => tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token'),
    live,
    issue,
    tokens,
    published: [signing.publicKey],
    async rotate() {
      rotations += 1
      signing = await createKey(`key-${rotations}`)
      issuer.published = [signing.publicKey]
    },
    sign(claims: JWTPayload) {
      const seconds = Math.floor(now() / 1000)
      return new SignJWT({ iss: url, iat: seconds, exp: seconds + 300, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: signing.id, typ: 'JWT' })
        .sign(signing.privateKey)
    },
  })
  return issuer
}

/** An error response of the token endpoint (RFC 6749 section 5.2). */
export function refusing(error: string, description = 'no'): Behavior {
  return json(400, { error, error_description: description })
}

interface SigningKey {
  id: string
  privateKey: CryptoKey
  publicKey: object
}

async function createKey(id: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { id, privateKey, publicKey: { ...(await exportJWK(publicKey)), kid: id, alg: 'ES256', use: 'sig' } }
}

/** A JWT that no one has signed, for servers that do not verify it. */
export function identityToken(claims: Record<string, unknown> = {}): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'RS256' })}.${encode({ ...identityClaims, ...claims })}.c2ln`
}

const identityClaims = {
  iss: 'https://ci.example',
  sub: 'repo:acme/app:ref:refs/heads/main',
  aud: 'https://chat.example',
  exp: Date.parse('2030-01-01T00:00:00Z') / 1_000,
}
