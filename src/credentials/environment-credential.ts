import { Failure } from '../contract/failure.ts'
import { maxSecretBytes, readNamedFile } from '../system/read-named-file.ts'

/** A secret, and where it came from in words that may be shown. */
export interface Credential {
  secret: string
  source: string
}

/**
 * The API key that the environment names: `CHATCTL_API_KEY` before `CHATCTL_API_KEY_FILE`.
 *
 * @throws Failure `unauthorized` when the file cannot be read, can be written by other users, or
 *   holds no key
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
