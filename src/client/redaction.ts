import { Failure } from '../contract/failure.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import { hideSecretFields, isSecretParameter, redacted, stringOf } from '../contract/secret-fields.ts'

/** Removes secrets from a value that is shown or logged. */
export type Redact = <T>(value: T) => T

/** Minimum length of a secret. Removing shorter texts would damage words. */
export const minSecretLength = 6

/** A service may quote the key or the request that it rejects, so messages are cleaned of these secrets. */
export function redactorOf(...secrets: (string | undefined)[]): Redact {
  const known = secrets
    .filter((secret) => secret !== undefined)
    .filter(({ length }) => length >= minSecretLength)
  if (known.length === 0) return (value) => value
  const shortest = Math.min(...known.map(({ length }) => length))
  let forms: readonly string[] | undefined
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') {
      if (value.length < shortest) return value
      forms ??= [...new Set(known.flatMap(formsOf))]
      return forms.reduce((text, form) => text.replaceAll(form, redacted), value)
    }
    if (Array.isArray(value)) return value.map(clean)
    if (!isRecord(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), clean(inner)]))
  }
  return <T>(value: T) => clean(value) as T
}

export function redactorOfRequest(credential: string | undefined, body: unknown): Redact {
  return redactorOf(credential, ...secretsOf(body))
}

/** A secret as is, URL-encoded, and escaped as in JSON. */
function formsOf(secret: string): string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
}

/** The secrets in a request body: the password of a new user, and all secret fields of a raw body. */
function secretsOf(body: unknown): string[] {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    const secrets: string[] = []
    hideSecretFields(text, (written) => {
      secrets.push(stringOf(written))
      return written
    })
    return secrets
  }
  const password = isRecord(body) ? body['password'] : undefined
  return typeof password === 'string' ? [password] : []
}

/** The same bytes, or the text without secrets if it has any. */
export function redactBytes(bytes: Uint8Array, redact: Redact): Uint8Array {
  const text = new TextDecoder().decode(bytes)
  const clean = redact(text)
  return clean === text ? bytes : new TextEncoder().encode(clean)
}

/** A URL without user info, and without the values of query fields that may be secrets. */
export function showUrl(url: URL): string {
  if (url.search === '' && url.username === '' && url.password === '') return url.href
  const names = [...new URLSearchParams(url.search).keys()].filter(isSecretParameter)
  if (names.length === 0 && url.username === '' && url.password === '') return url.href
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  for (const name of names) shown.searchParams.set(name, 'redacted')
  return shown.href
}

/** Headers without secrets. */
export function showHeaders(headers: Record<string, string>): Record<string, string> {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    isSecretParameter(name) || /cookie/i.test(name) ? redacted : value,
  ])
  return Object.fromEntries(shown)
}

/** Runs a function, and removes secrets from its failure. */
export async function withoutSecret<T>(redact: Redact, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof Failure ? concealFailure(error, redact) : error
  }
}

/** The same failure without secrets. */
export function concealFailure(failure: Failure, redact: Redact): Failure {
  const concealed = new Failure(failure.kind, redact(failure.message), {
    ...redact({ ...failure }),
    cause: failure.cause instanceof Failure ? concealFailure(failure.cause, redact) : failure.cause,
  })
  // Keep the stack of the original failure.
  if (failure.stack !== undefined) concealed.stack = redact(failure.stack)
  return concealed
}
