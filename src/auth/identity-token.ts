import { readEndpoint } from '../contract/base-url.ts'
import { Failure, type FailureOptions } from '../contract/failure.ts'
import { isRecord, tryParse } from '../contract/notation/exact-json.ts'
import { maxSecretBytes, readNamedFile } from '../system/files/read-named-file.ts'
import { describeIdentitySource, type IdentitySource } from './credentials/identity-source.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export interface IdentityRequest {
  source: IdentitySource
  /** Who the token is for. Only GitHub issues one for any audience. */
  audience: string
  env: NodeJS.ProcessEnv
  resolvePath: (path: string) => string
  transport: TransportOptions
}

/** The claims of an identity token that say whose it is, unverified. Null if the token does not have them. */
export interface IdentityClaims {
  iss: string | null
  sub: string | null
  /** Several are separated by spaces. */
  aud: string | null
  /** ISO 8601. */
  exp: string | null
}

/**
 * The identity token of this CI job.
 *
 * @throws Failure `unauthorized` if there is none, or it is not a JWT; a failure of the network
 */
export async function obtainIdentityToken(request: IdentityRequest): Promise<string> {
  const { source, audience } = request
  const token = (await read(request)).trim()
  const where = describeIdentitySource(source)
  if (token === '') {
    const isGitlab = source.kind === 'variable' && source.isGitlab
    const words = source.kind === 'variable' ? `${source.name} is not set` : `${where} is empty`
    throw noToken(
      `No identity token: ${words}`,
      isGitlab ? { advice: [{ code: 'gitlab_id_token', audience }] } : {},
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

/** The two variables that a job with the permission `id-token: write` has. */
const [urlVariable, tokenVariable] = ['ACTIONS_ID_TOKEN_REQUEST_URL', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN']

async function askGithub(
  audience: string,
  env: NodeJS.ProcessEnv,
  options: TransportOptions,
): Promise<string> {
  const missing = [urlVariable, tokenVariable].find((name) => !env[name])
  if (missing !== undefined) {
    throw noToken(`No identity token: ${missing} is not set`, { advice: [{ code: 'github_id_token' }] })
  }
  const url = new URL(readEndpoint(env[urlVariable], urlVariable))
  url.searchParams.append('audience', audience)
  // The trace would show the token, because the name of its field does not say that it is a secret.
  const transport = createTransport({ ...options, credential: env[tokenVariable], trace: undefined })
  const response = await transport(url.href, { method: 'GET', headers: { accept: 'application/json' } })
  const { status } = response
  if (status >= 500) throw new Failure('server_error', `${url.origin} responded ${status}`, { status })
  if (status !== 200) {
    throw noToken(`GitHub issued no identity token: ${url.origin} responded ${status}`, {
      status,
      advice: [{ code: 'github_id_token' }],
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
