import { Failure } from '../contract/failure.ts'

const yes = ['1', 'true', 'on', 'yes', 'y']
const no = ['0', 'false', 'off', 'no', 'n']

/**
 * Reads the environment variable of a flag that takes no value. An empty variable counts as not set.
 *
 * @throws Failure `usage` for another word, because a misspelled CHATCTL_DRY_RUN must not send a change
 */
export function readBooleanVariable(name: string, env: NodeJS.ProcessEnv): boolean {
  const text = env[name] ?? ''
  const word = text.toLowerCase()
  if (yes.includes(word)) return true
  if (word === '' || no.includes(word)) return false
  throw new Failure('usage', `${name}: "${text}" is not 1, 0, true, false, on, off, yes, or no`)
}
