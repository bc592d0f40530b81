const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openings = new Set([0x5b, 0x7b])
const closings = new Set([0x5d, 0x7d])

/** Arrays and objects inside each other, and values in all of them. */
interface JsonBounds {
  depth: number
  values: number
}

/**
 * Which bound a JSON text exceeds, if any. Looks at the bytes: what walks a parsed value overflows the
 * stack where `depth` matters, and blocks the event loop where `values` does. For a text that is not
 * JSON, any result may be returned.
 */
export function exceededBound(text: Uint8Array, bounds: JsonBounds): keyof JsonBounds | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      at = endOfString(text, at)
    } else if (byte === comma) {
      values++
    } else if (openings.has(byte)) {
      depth++
      // An empty one counts too: at most twice as many are counted as there are.
      values++
      if (depth > bounds.depth) return 'depth'
    } else if (closings.has(byte)) {
      depth--
    }
    if (values > bounds.values) return 'values'
  }
  return undefined
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
