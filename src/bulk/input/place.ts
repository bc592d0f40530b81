/** A place in a text, both from 1. A column is a character (a code point), not a byte. */
export interface Place {
  line: number
  column: number
}

/** The place behind `text`, which begins at `start`. */
export function placeAfter(start: Place, text: string): Place {
  let { line, column } = start
  let last = -1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    line++
    last = at
  }
  if (last !== -1) column = 1
  return { line, column: column + countCharacters(text, last + 1) }
}

function countCharacters(text: string, from: number): number {
  let count = text.length - from
  for (let at = from; at < text.length; at++) {
    // The second half of a surrogate pair is no character of its own.
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  }
  return count
}
