import { Failure } from '../../contract/failure.ts'
import { conversionHint, encodingWords, foreignEncodingOf } from '../../contract/notation/foreign-encoding.ts'

/**
 * Decodes UTF-8, without its byte order mark.
 *
 * @param where the bytes are from: a file, or `stdin`
 * @throws Failure `refused` for bytes that are not UTF-8, and for a NUL
 */
export function decodeText(bytes: Uint8Array, where: string): string {
  if (foreignEncodingOf(bytes) !== undefined) throw notUtf8(where, bytes)
  const nul = bytes.indexOf(0)
  if (nul !== -1) {
    const { length } = new TextDecoder().decode(bytes.subarray(0, nul))
    throw new Failure('refused', `${where} is not text: it has a NUL character at position ${length}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw notUtf8(where, bytes, cause)
  }
}

/** @param first bytes of it */
export function notUtf8(where: string, first: Uint8Array, cause?: unknown): Failure {
  const hint = conversionHint(first, where)
  return new Failure('refused', `${where} is ${encodingWords(first)}`, { hint, cause })
}
