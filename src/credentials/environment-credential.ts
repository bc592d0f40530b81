import { readFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { systemWords } from '../system-words.ts'

/** A secret, and where it came from in words that may be shown. */
export interface Credential {
  secret: string
  source: string
}

/**
 * The API key that the environment names: `CHATCTL_API_KEY` before `CHATCTL_API_KEY_FILE`.
 *
 * @throws Failure `unauthorized` when the file cannot be read or holds no key
 */
export function readEnvironmentCredential(env: NodeJS.ProcessEnv): Credential | undefined {
  const key = env['CHATCTL_API_KEY']?.trim()
  if (key) return { secret: key, source: 'CHATCTL_API_KEY' }
  const path = env['CHATCTL_API_KEY_FILE']
  if (!path) return undefined
  const secret = readKeyFile(path)
  if (!secret) throw new Failure('unauthorized', `CHATCTL_API_KEY_FILE: ${path} holds no key`)
  return { secret, source: `CHATCTL_API_KEY_FILE (${path})` }
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Failure('unauthorized', `CHATCTL_API_KEY_FILE: ${path} cannot be read: ${systemWords(cause)}`, {
      cause,
    })
  }
}
