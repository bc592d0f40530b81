import { Failure } from '../../contract/failure.ts'

/** A place in a text, both from 1. A column is a character (a code point), not a byte. */
export interface RowPosition {
  line: number
  column: number
}

/** In UTF-16 units. A row is held in memory, and a file in another format may look like one huge row. */
export const maxRowLength = 1024 * 1024

/** The place after `text`, which begins at `start`. */
export function placeAfter(start: RowPosition, text: string): RowPosition {
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
    // A surrogate pair is one character.
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  }
  return count
}

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name}:${line}: the row is longer than 1 MiB`, {
    hint: 'Check the file format, and that every quote and bracket is closed.',
  })
}
