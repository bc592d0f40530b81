const quote = 0x22
const backslash = 0x5c
const openings = new Set([0x5b, 0x7b])
const closings = new Set([0x5d, 0x7d])

/**
 * Whether no value of a JSON text lies inside of more than so many arrays and objects. Looks at the
 * bytes, for what walks a value that was parsed overflows the stack where this matters; a text that
 * is no JSON may get either answer.
 */
export function isJsonNestedAtMost(text: Uint8Array, most: number): boolean {
  // Every level takes a byte at least.
  if (text.length <= most) return true
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      at = endOfString(text, at)
    } else if (openings.has(byte)) {
      depth++
      if (depth > most) return false
    } else if (closings.has(byte)) {
      depth--
    }
  }
  return true
}

/** The place of the closing quote; the end of a text that has none. */
function endOfString(text: Uint8Array, opening: number): number {
  let at = opening
  for (;;) {
    at = text.indexOf(quote, at + 1)
    if (at === -1) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === backslash) escapes++
    if (escapes % 2 === 0) return at
  }
}
