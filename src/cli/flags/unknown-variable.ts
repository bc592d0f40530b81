import { nearest } from '../../contract/nearest-word.ts'
import { ownVariables } from '../help/environment-variables.ts'

/** Set by chatctl itself, or read by install.sh, the build, and the tests. */
const others =
  /^CHATCTL_(?:DISABLE_THEME|KEYCHAIN_CALL|CREDENTIAL_COMMAND|DOWNLOADS|UPDATE_GOLDEN|SOAK_MINUTES|TEST_[A-Z_]+)$/

/** Variables that chatctl does not know, such as a misspelled CHATCTL_DRY_RUN, without their values. */
export function unknownVariables(env: NodeJS.ProcessEnv): { message: string; hint: string }[] {
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('CHATCTL_') && env[name] !== '' && !ownVariables.includes(name) && !others.test(name),
    )
    .map((name) => {
      const meant = nearest(name, ownVariables)
      const question = meant === undefined ? 'Remove it with' : `Did you mean ${meant}? Otherwise`
      return { message: `${name} is not a variable of chatctl`, hint: `${question}: unset ${name}` }
    })
}
