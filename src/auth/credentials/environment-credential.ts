import { redactorOf } from '../../client/redaction.ts'
import { Failure } from '../../contract/failure.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'

/** A secret, and a description of its source that may be shown. */
export interface Credential {
  secret: string
  source: string
}

/**
 * The API key in `CHATCTL_API_KEY`, or else in the file that `CHATCTL_API_KEY_FILE` names.
 * @throws Failure `unauthorized` if the file cannot be read, is writable by other users, or is empty
 */
export function readEnvironmentCredential(
  env: NodeJS.ProcessEnv,
  resolvePath: (name: string) => string,
): Credential | undefined {
  const key = env['CHATCTL_API_KEY']?.trim()
  if (key) return { secret: key, source: 'CHATCTL_API_KEY' }
  const path = env['CHATCTL_API_KEY_FILE']
  if (!path) return undefined
  const name = `CHATCTL_API_KEY_FILE: ${path}`
  const file = {
    at: resolvePath(path),
    name,
    maxBytes: maxSecretBytes,
    isSecret: true,
    kind: 'unauthorized',
  } as const
  const secret = readNamedFile(path, file).toString('utf8').trim()
  if (!secret) throw new Failure('unauthorized', `${name} is empty`)
  return { secret, source: `CHATCTL_API_KEY_FILE (${path})` }
}

/** Where a CI job gets its identity token (a JWT). */
export type IdentitySource =
  /** GitHub issues one on request. */
  { kind: 'github' } | { kind: 'variable'; name: string; isGitlab: boolean } | { kind: 'file'; path: string }

/** The variable that a GitLab job declares under `id_tokens`. */
const gitlabVariable = 'CHATCTL_ID_TOKEN'

/** The two variables that a job of GitHub with the permission `id-token: write` has. */
export const githubVariables = ['ACTIONS_ID_TOKEN_REQUEST_URL', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN'] as const

/**
 * The variables that contain or lead to another credential, the data of the embedded service, or another service, as
 * OPENAI_API_BASE does, and one that chatctl sets for itself.
 */
const removedVariables =
  /^(CHATCTL_(PROFILE|API_KEY_FILE|OIDC|ID_TOKEN|SEAL_KEY|DATABASE(_FILE)?|MODEL_SERVER_KEY_FILE|DISABLE_THEME)|OPENAI_(API|BASE|ORG|PROJECT|ADMIN)\w*)$/i

/**
 * The environment of a program with a token instead of the credential. Windows ignores the case of a name.
 * @param secret the credential for which the token was exchanged
 */
export function environmentWithToken(
  env: NodeJS.ProcessEnv,
  {
    baseUrl,
    profile,
    identity,
  }: { baseUrl: string; profile?: string | undefined; identity?: IdentitySource | undefined },
  secret: string,
  token: string,
): NodeJS.ProcessEnv {
  const source =
    identity?.kind === 'variable' ? [identity.name] : identity?.kind === 'github' ? githubVariables : []
  const removed = source.map((name) => name.toUpperCase())
  const redact = redactorOf(secret)
  const kept = Object.entries(env).filter(
    ([name, value]) =>
      !removedVariables.test(name) && !removed.includes(name.toUpperCase()) && redact(value) === value,
  )
  return {
    ...Object.fromEntries(kept),
    ...{ CHATCTL_BASE_URL: baseUrl, CHATCTL_API_KEY: token },
    // The guards and the other options of the profile apply to chatctl in the program.
    ...(profile !== undefined && { CHATCTL_PROFILE: profile }),
    ...{ OPENAI_BASE_URL: `${withoutTrailing(baseUrl, '/')}/openai/v1`, OPENAI_API_KEY: token },
  }
}

/** @throws Failure `usage` for an unknown value of `CHATCTL_OIDC` */
export function readIdentitySource(env: NodeJS.ProcessEnv): IdentitySource | undefined {
  const value = env['CHATCTL_OIDC']
  if (!value) return undefined
  if (value === 'github') return { kind: 'github' }
  if (value === 'gitlab') return { kind: 'variable', name: gitlabVariable, isGitlab: true }
  const [, kind, rest = ''] = /^(env|file):(.+)$/s.exec(value) ?? []
  if (kind === 'file') return { kind, path: rest }
  if (kind === 'env' && /^\w+$/.test(rest)) return { kind: 'variable', name: rest, isGitlab: false }
  // The value may be the token itself.
  throw new Failure('usage', 'CHATCTL_OIDC is not github, gitlab, env:NAME, or file:PATH')
}

/** The source in words: `the identity token of GitHub Actions`. */
export function describeIdentitySource(source: IdentitySource): string {
  if (source.kind === 'github') return 'the identity token of GitHub Actions'
  if (source.kind === 'file') return `the identity token in ${source.path}`
  return source.isGitlab ? 'the identity token of GitLab CI' : `the identity token in ${source.name}`
}
