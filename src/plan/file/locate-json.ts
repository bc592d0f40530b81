import { parseJson } from '../../contract/exact-json.ts'
import { deepest, type Located, mostValues, Unreadable } from './located.ts'

/** RFC 8259 section 7. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a string may not hold
const stringPiece = /[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
/** RFC 8259 sections 3 and 6. */
const literal = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const space = /[ \t\r\n]*/y

/**
 * Reads JSON (RFC 8259) with the place of every value, which JSON.parse does not tell. A name that
 * is there twice in one object is refused.
 *
 * @throws Unreadable
 */
export function locateJson(text: string): Located {
  const reader = new JsonReader(text)
  const value = reader.readValue(0)
  reader.end()
  if (reader.duplicates.length > 0) throw new Unreadable(reader.duplicates)
  return value
}

class JsonReader {
  readonly duplicates: { at: number; words: string }[] = []
  readonly #text: string
  #at = 0
  #count = 0

  constructor(text: string) {
    this.#text = text
  }

  readValue(depth: number): Located {
    const next = this.#peek()
    const at = this.#at
    if (depth > deepest) this.#fail('nested too deep')
    if (++this.#count > mostValues) this.#fail(`a settings file has no more than ${mostValues} values`)
    if (next === '{') return { kind: 'map', at, entries: this.#readEntries(depth) }
    if (next === '[') return { kind: 'list', at, items: this.#readItems(depth) }
    const source = next === '"' ? this.#takeString() : this.#take(literal)
    if (source === undefined) this.#fail(next === '"' ? 'not a JSON string' : 'a JSON value is missing')
    return { kind: 'scalar', at, value: parseJson(source), end: this.#at }
  }

  end(): void {
    if (this.#peek() !== '') this.#fail('not JSON: something follows the end of the value')
  }

  #readEntries(depth: number) {
    const entries: { key: string; keyAt: number; value: Located }[] = []
    const keys = new Set<string>()
    this.#at++
    if (this.#skip('}')) return entries
    do {
      this.#peek()
      const keyAt = this.#at
      const source = this.#takeString()
      if (source === undefined) this.#fail('a name in double quotes is missing')
      const key: string = JSON.parse(source)
      if (keys.has(key)) this.duplicates.push({ at: keyAt, words: `${key} is there twice` })
      keys.add(key)
      if (!this.#skip(':')) this.#fail('a colon is missing')
      entries.push({ key, keyAt, value: this.readValue(depth + 1) })
    } while (this.#skip(','))
    if (!this.#skip('}')) this.#fail('a comma or } is missing')
    return entries
  }

  #readItems(depth: number): Located[] {
    const items: Located[] = []
    this.#at++
    if (this.#skip(']')) return items
    do items.push(this.readValue(depth + 1))
    while (this.#skip(','))
    if (!this.#skip(']')) this.#fail('a comma or ] is missing')
    return items
  }

  /** The next character that is no white space, not taken; empty at the end. */
  #peek(): string {
    this.#take(space)
    return this.#text.charAt(this.#at)
  }

  #skip(mark: string): boolean {
    if (this.#peek() !== mark) return false
    this.#at++
    return true
  }

  /** Piece by piece: one pattern for a string of any length runs out of stack. */
  #takeString(): string | undefined {
    const start = this.#at
    if (!this.#skip('"')) return undefined
    while (this.#take(stringPiece) !== undefined) {}
    if (this.#text.charAt(this.#at) === '"') return this.#text.slice(start, ++this.#at)
    this.#at = start
    return undefined
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #fail(words: string): never {
    throw new Unreadable([{ at: this.#at, words }])
  }
}
