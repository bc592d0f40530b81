/** Whether a text is a well-formed language tag (RFC 5646). */
export function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/** Whether a text is `*` or the serialization of an origin (RFC 6454 section 6.2), as CORS compares it. */
export function isOrigin(text: string): boolean {
  if (text === '*') return true
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text
}

/** The bytes of a value's JSON. */
export const jsonSize = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
