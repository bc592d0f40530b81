import type { Advice } from '../contract/advice.ts'
import { readEndpoint } from '../contract/base-url.ts'
import { Failure, type FailureOptions } from '../contract/failure.ts'
import { isRecord, tryParse } from '../contract/notation/exact-json.ts'
import { maxSecretBytes, readNamedFile } from '../system/files/read-named-file.ts'
import { type AuthorizationServer, defaultClientId, findAuthorizationServer } from './authorization-server.ts'
import {
  describeIdentitySource,
  githubVariables,
  type IdentitySource,
} from './credentials/environment-credential.ts'
import type { TokenSet } from './credentials/stored-credential.ts'
import { exchangeToken, type Grant } from './token-endpoint.ts'
import { createTransport, type TransportOptions } from './transport.ts'

/** A service, and the authorization server for its tokens. */
export interface ExchangeTarget {
  baseUrl: string
  /** The authorization server (default: the service itself). */
  authUrl: string | undefined
  /** The configured token endpoint, if any. */
  tokenUrl: string | undefined
  clientId: string | undefined
  transport: TransportOptions
}

export type ExchangeOptions = IdentityRequest & ExchangeTarget & { scope: string | undefined }

/**
 * Obtains the identity token of this CI job, and exchanges it for an access token.
 * @throws Failure `unauthorized` if there is no identity token or the server refuses it; `refused` for a token endpoint
 *   that must not receive it; a failure of the network
 */
export async function exchangeIdentity(options: ExchangeOptions): Promise<TokenSet> {
  // First, because a job without the right to a token needs no server to fail.
  const token = await obtainIdentityToken(options)
  const { isSelf, ...target } = await findServer(options, 'identity token')
  const grant = {
    what: 'The exchange of the identity token',
    ...chooseGrant(target.server, token, target.clientId),
    secrets: [token],
  }
  const { scope, transport } = options
  try {
    return await exchangeToken({ ...target, scope }, grant, createTransport(transport), transport.clock)
  } catch (error) {
    throw error instanceof Failure && error.kind === 'unauthorized'
      ? withClaims(error, token, options, isSelf)
      : error
  }
}

/**
 * The server that exchanges a secret, which goes only to the origin that was configured: the metadata may have been
 * changed by others.
 * @param what the secret, in words
 */
export async function findServer(
  { baseUrl, authUrl = baseUrl, tokenUrl, clientId, transport }: ExchangeTarget,
  what: string,
) {
  const server = await findAuthorizationServer(authUrl, tokenUrl, createTransport(transport)).catch(
    (error: unknown) => {
      if (!(error instanceof Failure) || error.kind !== 'usage') throw error
      throw error.reworded(error.message, {
        hint: 'Set CHATCTL_AUTH_URL to the URL of the authorization server, or CHATCTL_TOKEN_URL to its token endpoint.',
      })
    },
  )
  const { origin } = new URL(tokenUrl ?? authUrl)
  const { tokenEndpoint } = server
  const isSelf = authUrl === baseUrl && tokenUrl === undefined
  if (new URL(tokenEndpoint).origin === origin) {
    return { server, isSelf, clientId: clientId ?? (isSelf ? defaultClientId : undefined) }
  }
  throw new Failure(
    'refused',
    `The metadata of ${origin} names a token endpoint of another origin, ${tokenEndpoint}, so it does not receive the ${what}`,
    { advice: [{ code: 'foreign_token_endpoint', tokenEndpoint }] },
  )
}

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

export function cannotExchange({ tokenEndpoint }: { tokenEndpoint: string }, what: string): Failure {
  const words = `${new URL(tokenEndpoint).origin} does not exchange ${what} for access tokens`
  const hint = 'Use an API key that has only the permissions that are needed.'
  return new Failure('unauthorized', words, { code: 'unsupported_grant_type', hint })
}

/** Token exchange (RFC 8693), or the token as a client assertion (RFC 7523 section 2.2) if only that is offered. */
function chooseGrant(
  server: AuthorizationServer,
  token: string,
  clientId: string | undefined,
): Pick<Grant, 'type' | 'parameters'> {
  const { grantTypes, tokenEndpoint } = server
  if (grantTypes === undefined || grantTypes.includes(tokenExchange)) {
    return { type: tokenExchange, parameters: exchangeParameters(token, 'id_token') }
  }
  if (!grantTypes.includes('client_credentials')) throw cannotExchange(server, 'identity tokens')
  if (clientId === undefined) {
    const { origin } = new URL(tokenEndpoint)
    throw new Failure('unauthorized', `${origin} takes an identity token only from a client with an ID`, {
      hint: 'Set CHATCTL_CLIENT_ID to the ID of the client that trusts this identity.',
    })
  }
  const assertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  return {
    type: 'client_credentials',
    parameters: { client_assertion_type: assertion, client_assertion: token },
  }
}

/** RFC 8693 section 2.1. */
export function exchangeParameters(token: string, kind: 'id_token' | 'access_token') {
  const type = 'urn:ietf:params:oauth:token-type'
  return {
    subject_token: token,
    subject_token_type: `${type}:${kind}`,
    requested_token_type: `${type}:access_token`,
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

interface IdentityRequest {
  source: IdentitySource
  /** Who the token is for. Only GitHub issues one for any audience. */
  audience: string
  env: NodeJS.ProcessEnv
  resolvePath: (path: string) => string
  transport: TransportOptions
}

/** The claims of an identity token that say whose it is, unverified. Null if the token does not have them. */
interface IdentityClaims {
  iss: string | null
  sub: string | null
  /** Several are separated by spaces. */
  aud: string | null
  /** ISO 8601. */
  exp: string | null
}

/**
 * The identity token of this CI job.
 * @throws Failure `unauthorized` if there is none, or it is not a JWT; a failure of the network
 */
async function obtainIdentityToken(request: IdentityRequest): Promise<string> {
  const { source, audience } = request
  const token = (await read(request)).trim()
  const where = describeIdentitySource(source)
  if (token === '') {
    const isGitlab = source.kind === 'variable' && source.isGitlab
    const words = source.kind === 'variable' ? `${source.name} is not set` : `${where} is empty`
    throw noToken(
      `No identity token: ${words}`,
      isGitlab
        ? {
            hint: `Add this to the job: id_tokens: { CHATCTL_ID_TOKEN: { aud: ${JSON.stringify(audience)} } }`,
          }
        : {},
    )
  }
  // Anything else may be another secret, which the server must not see.
  if (token.length <= maxSecretBytes && readClaims(token)) return token
  throw noToken(`Cannot use ${where}: it is not a JSON Web Token (JWT)`)
}

function read({ source, audience, env, resolvePath, transport }: IdentityRequest): string | Promise<string> {
  if (source.kind === 'github') return askGithub(audience, env, transport)
  if (source.kind === 'variable') return env[source.name] ?? ''
  const file = {
    at: resolvePath(source.path),
    name: `CHATCTL_OIDC: ${source.path}`,
    maxBytes: maxSecretBytes,
    isSecret: true,
    // A token that is read again to renew an access token cannot come from a pipe, and a job must not wait for one.
    isRegular: true,
    kind: 'unauthorized',
  } as const
  return readNamedFile(source.path, file).toString('utf8')
}

const [urlVariable, tokenVariable] = githubVariables
const githubHint = 'Add this to the job or the workflow: permissions: { id-token: write, contents: read }'

async function askGithub(
  audience: string,
  env: NodeJS.ProcessEnv,
  options: TransportOptions,
): Promise<string> {
  const missing = [urlVariable, tokenVariable].find((name) => !env[name])
  if (missing !== undefined) {
    throw noToken(`No identity token: ${missing} is not set`, { hint: githubHint })
  }
  const url = new URL(readEndpoint(env[urlVariable], urlVariable))
  url.searchParams.append('audience', audience)
  // The trace would show the token, because the name of its field does not say that it is a secret.
  const transport = createTransport({ ...options, credential: env[tokenVariable], openTrace: undefined })
  const response = await transport(url.href, { method: 'GET', headers: { accept: 'application/json' } })
  const { status } = response
  if (status >= 500) throw new Failure('server_error', `${url.origin} responded ${status}`, { status })
  if (status !== 200) {
    throw noToken(`GitHub issued no identity token: ${url.origin} responded ${status}`, {
      status,
      hint: githubHint,
    })
  }
  const body: unknown = await response.json().catch(() => undefined)
  const value = isRecord(body) ? body['value'] : undefined
  if (typeof value === 'string') return value
  throw new Failure('invalid_response', `${url.origin} sent no identity token`)
}

function noToken(message: string, options: FailureOptions = {}): Failure {
  return new Failure('unauthorized', message, { code: 'no_identity_token', ...options })
}

/** The claims of a JWT (RFC 7519 section 4.1); undefined if it is none. */
export function readClaims(token: string): IdentityClaims | undefined {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? []
  const claims =
    payload === undefined ? undefined : tryParse(Buffer.from(payload, 'base64url').toString('utf8'))
  if (!isRecord(claims)) return undefined
  const { iss, sub, aud, exp } = claims
  const ends = typeof exp === 'number' ? new Date(exp * 1_000) : undefined
  return {
    iss: textOf(iss),
    sub: textOf(sub),
    aud: Array.isArray(aud) ? aud.map(textOf).join(' ') : textOf(aud),
    exp: ends && !Number.isNaN(ends.getTime()) ? ends.toISOString() : null,
  }
}

/** Longer texts are truncated, because they are shown. */
function textOf(claim: unknown): string | null {
  return typeof claim === 'string' ? claim.slice(0, 500) : null
}
