import { Failure } from '../../contract/failure.ts'
import { maxSecretBytes, readNamedFile } from '../../system/files/read-named-file.ts'

/** A secret, and a description of its source that may be shown. */
export interface Credential {
  secret: string
  source: string
}

/**
 * The API key in `CHATCTL_API_KEY`, or else in the file that `CHATCTL_API_KEY_FILE` names.
 *
 * @param maxWait in ms, for a pipe
 * @throws Failure `unauthorized` if the file cannot be read, is writable by other users, or is empty
 */
export function readEnvironmentCredential(
  env: NodeJS.ProcessEnv,
  resolvePath: (name: string) => string,
  maxWait: number,
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
    maxWait,
    kind: 'unauthorized',
  } as const
  const secret = readNamedFile(path, file).toString('utf8').trim()
  if (!secret) throw new Failure('unauthorized', `${name} is empty`)
  return { secret, source: `CHATCTL_API_KEY_FILE (${path})` }
}
