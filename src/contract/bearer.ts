import { Failure } from './failure.ts'

/**
 * The value of the Authorization header (docs/interface.md, "Authentication"; RFC 6750 section 2.1).
 *
 * @throws Failure `refused` for a credential that a header cannot contain; the message never quotes it
 */
export function bearer(credential: string): string {
  if (/^[\x20-\x7e\xa0-\xff]+$/.test(credential)) return `Bearer ${credential}`
  if (credential === '') throw unusable('is empty')
  if (/\p{Cc}/u.test(credential)) throw unusable('contains a line break or another control character')
  // RFC 9110 section 5.5: a field value consists of bytes, and Node writes each character as one byte.
  throw unusable('contains characters that an HTTP header cannot contain')
}

function unusable(why: string): Failure {
  return new Failure('refused', `The API key or token ${why}`, { advice: [{ code: 'unusable_credential' }] })
}
