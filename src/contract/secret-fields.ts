import { isRecord, tryParse } from './notation/exact-json.ts'
import { decodedPart } from './or-else.ts'

/** What is shown instead of a secret. */
export const redacted = '[redacted]'

/** `password`, `client_secret`, `X-Api-Key`; not `max_tokens`. */
const secretName =
  /(passwords?|passwd|passphrases?|passcodes?|secrets?|token|credentials?|authorization|assertion|verifier|signature)([^a-z0-9]?(\d+|confirmation))?$|(^|[^a-z0-9])(pass|pwd|(api)?key|cookies?|jwt|otp|pin|(authorization|backup|device|recovery|user|verification)_?codes?)([^a-z0-9]?\d+)?$|(^|[^a-z0-9])(access|api|auth|private|refresh|secret|session)[^a-z0-9]?(keys|tokens)$/i

/** Of query parameters and headers, which may hold a secret under more names than fields. */
const secretParameter =
  /key|token|secret|password|passwd|credential|signature|auth$|authorization|session|^code$|^sig$/i

/** Whether a field of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
}

/** Whether a query parameter or a header of this name may hold a secret. */
export function isSecretParameter(name: string): boolean {
  return secretParameter.test(name) || isSecretName(name)
}

/**
 * A JSON value as it may be shown: the values of secret fields are replaced, at every depth, and secrets in URLs.
 * @param path of the value, dotted, if it is a field
 */
export function hideSecrets(value: unknown, path = ''): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (path.split('.').some(isSecretName)) return redacted
  if (typeof value === 'string') return hideSecretsInUrl(value)
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, hideSecrets(inner, name)]))
}

const url = /^[a-z][a-z0-9+.-]*:\/\/\S+$/i

/** A text that is a URL, without its password and the values of secret parameters. Any other text is unchanged. */
function hideSecretsInUrl(text: string): string {
  if (!url.test(text)) return text
  const anonymous = text.replace(/(:\/\/[^\s/?#@:]*:)[^\s/?#@]+(?=@)/, '$1redacted')
  return hideSecretParameters(anonymous)
}

/** JSON strings, of which the last may be cut, its punctuation, and the text between. */
const tokens = /"(?:[^"\\]+|\\[\s\S])*(?:"|\\?$)|[{}[\]:,]|[^"{}[\]:,]+/g

/**
 * Replaces the values of secret fields in a text that contains JSON: a body, the events of a stream, or
 * the beginning of either. The rest of the text is unchanged.
 * @param hide replaces a value, which is passed as it is written in JSON
 */
export function hideSecretFields(text: string, hide: (written: string) => string): string {
  const all = text.match(tokens) ?? []
  /** Whether all values in each of the open lists and objects are secrets. */
  const open = [false]
  let isNamedSecret = false
  const shown = all.map((token, index) => {
    const isSecret = isNamedSecret || open.at(-1) === true
    const [first = ''] = token
    if (token.trim() === '' || token === ':') return token
    if (first === '"' && isFollowedByColon(all, index)) {
      isNamedSecret = isSecretName(stringOf(token))
      return token
    }
    isNamedSecret = false
    if (first === '{' || first === '[') open.push(isSecret)
    else if (first === '}' || first === ']') open.splice(Math.max(1, open.length - 1), 1)
    else if (isSecret && first !== ',') return token.replace(notBlank, (written) => hide(written))
    else if (first === '"' && token.includes('://')) return hideSecretsInWritten(token)
    return token
  })
  return shown.join('')
}

/** A whole string, or a word that says more than `null`, `true`, or `false`. */
const notBlank = /^"[\s\S]*|(?<!\S)(?!(?:null|true|false)(?!\S))\S+/

function isFollowedByColon(all: readonly string[], index: number): boolean {
  const next = all[index + 1] ?? ''
  return (next.trim() === '' ? all[index + 2] : next) === ':'
}

/** The same JSON string, which may be cut, without the secrets of a URL in it. */
function hideSecretsInWritten(written: string): string {
  const text = stringOf(written)
  const shown = hideSecretsInUrl(text)
  if (shown === text) return written
  return JSON.stringify(shown).slice(0, parsed(written) === undefined ? -1 : undefined)
}

/** The value of a JSON string that may be cut. */
export function stringOf(written: string): string {
  const whole = `${written.replace(/\\(u[\da-f]{0,3})?$/i, '')}"`
  return parsed(written) ?? parsed(whole) ?? written.replace(/^"/, '')
}

function parsed(written: string): string | undefined {
  const value = tryParse(written)
  return value === undefined ? undefined : String(value)
}

/** Replaces the values of secret parameters in a query, a form, or a text that contains a URL. */
export function hideSecretParameters(
  text: string,
  hide: (value: string) => string = () => 'redacted',
): string {
  return text.replace(
    /(^|[?&])([^=?&#\s]+)=([^&#\s]*)/g,
    (all, start: string, name: string, value: string) =>
      isSecretParameter(decodedPart(name)) ? `${start}${name}=${hide(value)}` : all,
  )
}
