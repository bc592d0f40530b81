import { Failure } from '../contract/failure.ts'
import { nearest } from '../contract/nearest-word.ts'
import { ownVariables } from './help/environment-variables.ts'

/** Set by chatctl itself, or read by install.sh, the build, and the tests. */
const others =
  /^CHATCTL_(?:DISABLE_THEME|KEYCHAIN_CALL|CREDENTIAL_COMMAND|DOWNLOADS|UPDATE_GOLDEN|SOAK_MINUTES|TEST_[A-Z_]+)$/

/** The failure for a variable that chatctl does not know, such as a misspelled CHATCTL_DRY_RUN. Hides its value. */
export function unknownVariable(env: NodeJS.ProcessEnv): Failure | undefined {
  const name = Object.keys(env).find(
    (name) =>
      name.startsWith('CHATCTL_') && env[name] !== '' && !ownVariables.includes(name) && !others.test(name),
  )
  if (name === undefined) return undefined
  const meant = nearest(name, ownVariables)
  const question = meant === undefined ? '' : `Did you mean ${meant}? Otherwise: `
  return new Failure('usage', `${name} is not a variable of chatctl`, {
    hint: `${question}${meant === undefined ? 'Remove it with: ' : ''}unset ${name}`,
  })
}
