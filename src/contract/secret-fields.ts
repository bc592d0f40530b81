import { isRecord } from './exact-json.ts'
import { secretField } from './secret-names.ts'

/** Whether a field or a parameter of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return secretField.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
}

const hidden = '<hidden>'

/**
 * A JSON value as it may be shown: the values of secret fields are replaced, also in objects and lists.
 *
 * @param path the dotted path of the value; empty if it has none
 */
export function withoutSecrets(path: string, value: unknown): unknown {
  if (path.split('.').some(isSecretName)) return value === null ? null : hidden
  if (Array.isArray(value)) return value.map((item) => withoutSecrets('', item))
  // An exact number is no record.
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutSecrets(name, inner)]))
}

/** JSON strings, of which the last may be cut, its punctuation, and the text between. */
const tokens = /"(?:[^"\\]+|\\[\s\S])*(?:"|\\?$)|[{}[\]:,]|[^"{}[\]:,]+/g

/**
 * Replaces the values of secret fields in a text that contains JSON: a body, the events of a stream, or
 * the beginning of either. The rest of the text is unchanged.
 *
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

/** The value of a JSON string that may be cut. */
export function stringOf(written: string): string {
  try {
    return String(JSON.parse(written))
  } catch {
    return written.replace(/^"/, '')
  }
}

/** Replaces the values of secret parameters in a query, a form, or a text that contains a URL. */
export function hideSecretParameters(text: string, hide: (value: string) => string): string {
  return text.replace(
    /(^|[?&])([^=?&#\s]+)=([^&#\s]*)/g,
    (all, start: string, name: string, value: string) =>
      name === 'code' || isSecretName(name) ? `${start}${name}=${hide(value)}` : all,
  )
}
