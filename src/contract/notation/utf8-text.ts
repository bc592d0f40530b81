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

/** The fault of a response with bytes that are not UTF-8. */
export const invalidUtf8 = 'The response is not valid UTF-8 (invalid bytes are replaced by U+FFFD)'

/** The fault of a whole response body. Undefined for valid UTF-8. */
export function faultOfUtf8(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? undefined : invalidUtf8
}

/** Decodes UTF-8 that arrives in pieces. Invalid bytes become U+FFFD. */
export class CheckingDecoder {
  /** Whether all bytes so far are valid. */
  isValid = true
  readonly #decoder = new TextDecoder()
  readonly #strict = new TextDecoder('utf-8', { fatal: true })

  /** @param bytes the next piece; omitted at the end */
  decode(bytes?: Uint8Array): string {
    const stream = bytes !== undefined
    try {
      this.#strict.decode(bytes, { stream })
    } catch {
      this.isValid = false
    }
    return this.#decoder.decode(bytes, { stream })
  }
}
