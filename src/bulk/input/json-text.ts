import type { FieldPath } from '../rows/judge-row.ts'

/** Codes of characters. What closes is two above what opens. */
const quote = 34
const bracket = 91
const brace = 123

const space = /[ \t\r\n]*/y
const scalar = /[^\s,:{}[\]"]*/y

/** The offset of the first character that is no white space of JSON (RFC 8259 section 2). */
export function skipSpace(text: string, at: number): number {
  space.lastIndex = at
  space.test(text)
  return space.lastIndex
}

/** Behind the string that begins at `at`; -1 where it does not end. */
export function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charAt(end - 1 - slashes) === '\\') slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return -1
}

/** Behind the value that begins at `at`; -1 where an object, a list or a string does not end. */
export function endOfValue(text: string, at: number): number {
  const first = text.charAt(at)
  if (first === '"') return endOfString(text, at)
  if (first !== '{' && first !== '[') return endOfScalar(text, at)
  let depth = 0
  for (let next = at; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code === quote) {
      next = endOfString(text, next) - 1
      if (next < 0) return -1
    } else if (code === brace || code === bracket) depth++
    else if ((code === brace + 2 || code === bracket + 2) && --depth === 0) return next + 1
  }
  return -1
}

/** Behind what is neither punctuation nor in quotes: a number, a word, or neither. */
export function endOfScalar(text: string, at: number): number {
  scalar.lastIndex = at
  scalar.test(text)
  return scalar.lastIndex
}

/** A name that an object has already, and where it begins in the text. */
interface RepeatedName {
  name: string
  offset: number
}

/** The first name that comes twice in one object of a text that is JSON: `JSON.parse` keeps the last value only. */
export function findRepeatedName(text: string): RepeatedName | undefined {
  /** The names of each object around the place; of a list, undefined. */
  const around: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === brace || code === bracket) around.push(code === brace ? new Set() : undefined)
    else if (code === brace + 2 || code === bracket + 2) around.pop()
    else if (code === quote) {
      const offset = at
      const end = endOfString(text, at)
      at = skipSpace(text, end)
      if (text.charAt(at) !== ':') at = end - 1
      else {
        const name: string = JSON.parse(text.slice(offset, end))
        const names = around.at(-1)
        if (names?.has(name)) return { name, offset }
        names?.add(name)
      }
    }
  }
  return undefined
}

/**
 * Where a field, or an item of a list, begins in a text that is JSON. Of a key that comes twice the
 * last counts, as it does for `JSON.parse`.
 */
export function offsetOf(text: string, path: FieldPath): number {
  let [field, value] = [skipSpace(text, 0), skipSpace(text, 0)]
  for (const step of path) {
    const found = findChild(text, value, step)
    if (!found) break
    ;[field, value] = found
  }
  return field
}

/** The beginning of the child with its key, and of its value. */
function findChild(text: string, parent: number, step: string | number): [number, number] | undefined {
  const isObject = text.charAt(parent) === '{'
  let found: [number, number] | undefined
  let at = skipSpace(text, parent + 1)
  for (let index = 0; !'}]'.includes(text.charAt(at)); index++) {
    const start = at
    let key: string | number = index
    if (isObject) {
      const end = endOfString(text, start)
      key = JSON.parse(text.slice(start, end))
      at = skipSpace(text, skipSpace(text, end) + 1)
    }
    if (key === step) found = [start, at]
    at = skipSpace(text, endOfValue(text, at))
    if (text.charAt(at) === ',') at = skipSpace(text, at + 1)
  }
  return found
}
