import {
  answer,
  type Behavior,
  json,
  type RecordedRequest,
  redirect,
  startFaultServer,
} from './fault-server.ts'

/** The script of the server. A test can replace each part while the server runs. */
interface TokenEndpointScript {
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

export interface TokenEndpoint {
  /** The issuer, and the value of --auth-url. */
  url: string
  clientId: string
  script: TokenEndpointScript
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
  close(): Promise<void>
}

/**
 * Starts an authorization server that needs no user and follows a script, for behavior that a real
 * server never shows.
 *
 * @param tenant the path of its issuer, such as `/tenant`
 */
export async function startTokenEndpoint(tenant = ''): Promise<TokenEndpoint> {
  const authorizations: URLSearchParams[] = []
  const tokenRequests: URLSearchParams[] = []
  const deviceRequests: URLSearchParams[] = []
  const revocations: URLSearchParams[] = []
  const live = new Set<string>()
  let made = 0
  const issue: TokenEndpoint['issue'] = () => {
    const accessToken = `access-token-${++made}`
    live.add(accessToken)
    return { access_token: accessToken, refresh_token: `refresh-token-${made}` }
  }
  const tokens: TokenEndpoint['tokens'] = (more = {}) => {
    return (request, response, incoming) => {
      const body = { ...issue(), token_type: 'Bearer', expires_in: 3600, ...more }
      live.add(body.access_token)
      return json(200, body, { 'cache-control': 'no-store' })(request, response, incoming)
    }
  }
  const script: TokenEndpointScript = {
    token: [tokens()],
    device: undefined,
    revoke: answer(200),
    redirectBack: () => {},
    metadataPath: `/.well-known/oauth-authorization-server${tenant}`,
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
      ...(script.device && { device_authorization_endpoint: `${url}/oauth/device_authorization` }),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    })
    return document ? json(200, document) : answer(404)
  }

  const { url: origin, close } = await startFaultServer({
    choose: (request) => {
      const { pathname, searchParams } = new URL(request.path, 'http://server')
      if (pathname === script.metadataPath) return describe()
      if (pathname === `${tenant}/oauth/authorize`) return authorize(searchParams)
      if (pathname === `${tenant}/oauth/token`) return token(request)
      if (pathname === `${tenant}/oauth/device_authorization`) {
        deviceRequests.push(new URLSearchParams(request.body))
        return script.device ?? answer(404)
      }
      if (pathname !== `${tenant}/oauth/revoke`) return answer(404)
      revocations.push(new URLSearchParams(request.body))
      return script.revoke
    },
  })
  const url = `${origin}${tenant}`
  const refreshes = (): URLSearchParams[] =>
    tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token')
  return {
    url,
    clientId: 'scripted-client',
    script,
    authorizations,
    tokenRequests,
    deviceRequests,
    revocations,
    refreshes,
    live,
    issue,
    tokens,
    close,
  }
}

/** An error response of the token endpoint (RFC 6749 section 5.2). */
export function refusing(error: string, description = 'no'): Behavior {
  return json(400, { error, error_description: description })
}
