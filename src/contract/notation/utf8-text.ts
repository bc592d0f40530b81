import { isUtf8 } from 'node:buffer'

/** The text in UTF-8 bytes, whose last character may be cut. Undefined for other encodings and binary data. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** Decodes UTF-8 that arrives in pieces, and counts the invalid sequences, each of which becomes U+FFFD. */
export class CountingDecoder {
  #invalid = 0
  readonly #decoder = new TextDecoder()
  /** The last two bytes, which may begin a valid U+FFFD. */
  #last = ''

  /** @param bytes the next piece; omitted at the end */
  decode(bytes?: Uint8Array): string {
    const text = this.#decoder.decode(bytes, { stream: bytes !== undefined })
    const raw = this.#last + Buffer.from(bytes ?? []).toString('latin1')
    this.#invalid += text.split('\ufffd').length - raw.split('\xef\xbf\xbd').length
    this.#last = raw.slice(-2)
    return text
  }

  /** The fault of a response. Undefined for valid UTF-8. */
  get fault(): string | undefined {
    return this.#invalid === 0
      ? undefined
      : `The response is not valid UTF-8 (sequences replaced by U+FFFD: ${this.#invalid})`
  }
}

/** The fault of a whole response body. Undefined for valid UTF-8. */
export function faultOfUtf8(bytes: Uint8Array): string | undefined {
  if (isUtf8(bytes)) return undefined
  const decoder = new CountingDecoder()
  decoder.decode(bytes)
  decoder.decode()
  return decoder.fault
}
