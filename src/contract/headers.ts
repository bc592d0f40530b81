import { Failure } from './failure.ts'

/**
 * The value of the Authorization header (docs/interface.md, "Authentication"; RFC 6750 section 2.1).
 * @throws Failure `refused` for a credential that a header cannot contain; the message never quotes it
 */
export function bearer(credential: string): string {
  const [prefix] = /^(bearer +|authorization: *)/i.exec(credential) ?? []
  if (prefix !== undefined) throw unusable(`begins with ${JSON.stringify(prefix)}. Omit this prefix`)
  // The name is not repeated, because it may be part of a key.
  if (/^((export|set) +\w+=|[A-Z][A-Z0-9]*_\w*=[^=])/.test(credential))
    throw unusable('begins with a variable, as in "export NAME=". Omit this prefix')
  if (/^(["'`]).*\1$/.test(credential)) throw unusable('is in quotes. Omit the quotes')
  if (/^[\x20-\x7e\xa0-\xff]+$/.test(credential)) return `Bearer ${credential}`
  if (credential === '') throw unusable('is empty')
  if (/\p{Cc}/u.test(credential)) throw unusable('contains a line break or another control character')
  // RFC 9110 section 5.5: a field value consists of bytes, and Node writes each character as one byte.
  throw unusable('contains characters that an HTTP header cannot contain')
}

function unusable(why: string): Failure {
  return new Failure('refused', `The API key or token ${why}`, { advice: [{ code: 'unusable_credential' }] })
}

/** Extensions of the interface by the embedded service (docs/reference/service.md, "Keys", "Settings"). */
export const credentialExpiryHeader = 'x-credential-expires-at'
export const settingsSerialHeader = 'x-settings-serial'

/** When the credential of the request ends, as ISO 8601 UTC. Undefined if the service does not tell it. */
export function credentialExpiryOf(headers: Readonly<Record<string, string>>): string | undefined {
  const text = headers[credentialExpiryHeader] ?? ''
  // Date.parse also accepts other texts, some in the local time zone.
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
