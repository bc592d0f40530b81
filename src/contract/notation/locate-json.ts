import { visit } from 'jsonc-parser'
import { longNumber, maxNumberLength, numberOf } from './exact-json.ts'
import { boundMessages, type Located, type LocatedEntry } from './located.ts'

interface JsonFault {
  at: number
  words: string
}

export interface JsonBounds {
  /** Maximum number of levels around a value. The parser is recursive; 5,000 levels fit on the stack. */
  depth: number
  values?: number
}

export interface LocatedJson {
  /** The value, or the part of it before the fault. */
  root: Located | undefined
  /** Where the text stops being JSON (RFC 8259) or exceeds a bound. */
  fault: JsonFault | undefined
  /** Duplicate names, of which `JSON.parse` keeps only the last value. */
  repeated: readonly { name: string; at: number }[]
}

/** Parses JSON with the place of every value, which `JSON.parse` does not give. */
export function locateJson(text: string, bounds: JsonBounds): LocatedJson {
  const reader = new LocatedJsonReader(text, bounds)
  try {
    visit(text, reader, { disallowComments: true })
  } catch (error) {
    if (error !== stop) throw error
  }
  return reader
}

/** Ends the visit at the first fault, because it causes the next ones. */
const stop = new Error('stop')

const noValue = 'expected a JSON value'
const noString = 'not a JSON string'

/**
 * By `ParseErrorCode`, a const enum, which can be used only by its numbers. The message of `JSON.parse` may quote a
 * password, and does not always contain the place.
 */
const words: Readonly<Record<number, string>> = {
  3: 'expected a key in double quotes',
  5: 'expected a colon',
  6: 'expected a comma',
  7: 'expected a comma or }',
  8: 'expected a comma or ]',
  9: 'unexpected text after the end of the JSON value',
  10: 'JSON has no comments',
  12: noString,
  14: noString,
  15: noString,
  16: noString,
}

type Level =
  | { value: Located; entries: LocatedEntry[]; names: Set<string>; name: string; nameAt: number }
  | { value: Located; items: Located[] }

class LocatedJsonReader implements LocatedJson {
  root: Located | undefined
  fault: JsonFault | undefined
  readonly repeated: { name: string; at: number }[] = []
  readonly #text: string
  readonly #bounds: JsonBounds
  readonly #levels: Level[] = []
  #values = 0

  constructor(text: string, bounds: JsonBounds) {
    this.#text = text
    this.#bounds = bounds
  }

  readonly onObjectBegin = (at: number): void => {
    const entries: LocatedEntry[] = []
    const value = this.#add({ kind: 'map', at, end: at, entries })
    this.#levels.push({ value, entries, names: new Set(), name: '', nameAt: at })
  }

  readonly onObjectProperty = (name: string, at: number): void => {
    const level = this.#levels.at(-1)
    if (!level || !('names' in level)) return
    if (level.names.has(name)) this.repeated.push({ name, at })
    level.names.add(name)
    level.name = name
    level.nameAt = at
  }

  readonly onArrayBegin = (at: number): void => {
    const items: Located[] = []
    this.#levels.push({ value: this.#add({ kind: 'list', at, end: at, items }), items })
  }

  readonly onLiteralValue = (value: unknown, at: number, length: number): void => {
    const end = at + length
    if (typeof value === 'number' && length > maxNumberLength) this.#fail(at, longNumber)
    const exact = typeof value === 'number' ? numberOf(this.#text.slice(at, end)) : value
    this.#add({ kind: 'scalar', at, value: exact, end })
  }

  readonly onObjectEnd = (at: number, length: number): void => this.#close(at + length)
  readonly onArrayEnd = (at: number, length: number): void => this.#close(at + length)
  readonly onError = (code: number, at: number): void => this.#fail(at, words[code] ?? noValue)

  #close(end: number): void {
    const level = this.#levels.pop()
    if (level) level.value.end = end
  }

  #add(value: Located): Located {
    const { depth, values = Number.POSITIVE_INFINITY } = this.#bounds
    if (this.#levels.length > depth) this.#fail(value.at, boundMessages.depth)
    if (++this.#values > values) this.#fail(value.at, boundMessages.values(values))
    const level = this.#levels.at(-1)
    if (level === undefined) this.root = value
    else if ('items' in level) level.items.push(value)
    else level.entries.push({ key: level.name, keyAt: level.nameAt, value })
    return value
  }

  #fail(at: number, words: string): never {
    this.fault = { at, words }
    throw stop
  }
}
