import { nearest } from '../contract/nearest-word.ts'
import { findFlagSynonym } from './synonyms.ts'

/** Words of flags that would carry a secret. */
const asksSecret = /^(api-?key|(access-?|auth-?|bearer-?)?token|key|secret|password|passwd|pass)$/

/**
 * What an unknown flag was probably meant to be. Its value is never said: it may be a secret.
 *
 * @param flag as typed, with its dashes
 * @param known the flags of the command
 * @returns undefined where nothing is near
 */
export function flagHint(flag: string, known: readonly string[]): string | undefined {
  const name = flag.replace(/^-+/, '').replaceAll('_', '-')
  if (asksSecret.test(name.toLowerCase())) return secretHint(/pass/i.test(name), known)
  const meant = findFlagSynonym(name, known) ?? nearest(name, known)
  return meant === undefined ? undefined : `Did you mean --${meant}?`
}

function secretHint(isPassword: boolean, known: readonly string[]): string {
  const [what, sources] = isPassword
    ? [
        'password',
        known.filter((flag) => /^(password-|generate-password)/.test(flag)).map((flag) => `--${flag}`),
      ]
    : [
        'key',
        [
          'CHATCTL_API_KEY',
          'CHATCTL_API_KEY_FILE',
          `${known.includes('with-api-key') ? '' : 'chatctl auth login '}--with-api-key`,
        ],
      ]
  const from = sources.length === 0 ? '' : `: ${sources.join(', or ')}`
  return `A ${what} is never an argument, which others could see${from}.`
}
