import { visit } from 'jsonc-parser'
import { longNumber, maxNumberLength, numberOf } from './exact-json.ts'
import { boundMessages, type Located, type LocatedEntry } from './located.ts'

/** What JSON (RFC 8259) allows at an offset. */
export type Expected =
  | 'value'
  | 'value or ]'
  | 'name'
  | 'name or }'
  | 'colon'
  | 'comma or }'
  | 'comma or ]'
  | 'end of text'

export interface JsonFault {
  at: number
  /** What is allowed here, or the bound that the value here exceeds. */
  expected: Expected | 'less depth' | 'fewer values' | 'shorter number'
}

export interface JsonBounds {
  /** Maximum number of levels around a value. The parser is recursive; 5,000 levels fit on the stack. */
  depth: number
  values?: number
}

export interface LocatedJson {
  /** The value, or the part of it before the fault. */
  root: Located | undefined
  /** Where the text stops being JSON or exceeds a bound. */
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

/** The message of `JSON.parse` may quote a password, and does not always contain the place. */
export function describeJsonFault(
  { at, expected }: JsonFault,
  text: string,
  { values = 0 }: JsonBounds,
): string {
  if (expected.startsWith('value') && text.charAt(at) === '"') return 'not a JSON string'
  return expected === 'fewer values' ? boundMessages.values(values) : words[expected]
}

const words: Record<Exclude<JsonFault['expected'], 'fewer values'>, string> = {
  value: 'expected a JSON value',
  'value or ]': 'expected a JSON value or ]',
  name: 'expected a key in double quotes',
  'name or }': 'expected a key in double quotes or }',
  colon: 'expected a colon',
  'comma or }': 'expected a comma or }',
  'comma or ]': 'expected a comma or ]',
  'end of text': 'unexpected text after the end of the JSON value',
  'less depth': boundMessages.depth,
  'shorter number': longNumber,
}

/** Ends the visit at the first fault, because it causes the next ones. */
const stop = new Error('stop')

/** A character of a number or a keyword, if it follows one. */
const wordCharacter = /[^\s,:{}[\]"]/

type Level =
  | {
      type: 'object'
      value: Located
      entries: LocatedEntry[]
      names: Set<string>
      name: string
      nameAt: number
    }
  | { type: 'list'; value: Located; items: Located[] }

class LocatedJsonReader implements LocatedJson {
  root: Located | undefined
  fault: JsonFault | undefined
  readonly repeated: { name: string; at: number }[] = []
  readonly #text: string
  readonly #bounds: JsonBounds
  readonly #levels: Level[] = []
  #expected: Expected = 'value'
  #values = 0
  /** The last number or keyword. */
  #word: { at: number; end: number } | undefined

  constructor(text: string, bounds: JsonBounds) {
    this.#text = text
    this.#bounds = bounds
  }

  readonly onObjectBegin = (at: number): void => {
    const entries: LocatedEntry[] = []
    const value = this.#add({ kind: 'map', at, end: at, entries })
    this.#levels.push({ type: 'object', value, entries, names: new Set(), name: '', nameAt: at })
    this.#expected = 'name or }'
  }

  readonly onObjectProperty = (name: string, at: number): void => {
    const level = this.#levels.at(-1)
    if (level?.type !== 'object') return
    if (level.names.has(name)) this.repeated.push({ name, at })
    level.names.add(name)
    level.name = name
    level.nameAt = at
    this.#expected = 'colon'
  }

  readonly onArrayBegin = (at: number): void => {
    const items: Located[] = []
    const value = this.#add({ kind: 'list', at, end: at, items })
    this.#levels.push({ type: 'list', value, items })
    this.#expected = 'value or ]'
  }

  readonly onLiteralValue = (value: unknown, at: number, length: number): void => {
    const end = at + length
    if (typeof value !== 'string') this.#word = { at, end }
    if (typeof value === 'number' && length > maxNumberLength) this.#fail(at, 'shorter number')
    const exact = typeof value === 'number' ? numberOf(this.#text.slice(at, end)) : value
    this.#add({ kind: 'scalar', at, value: exact, end })
    this.#expectAfterValue()
  }

  readonly onSeparator = (character: string): void => {
    this.#expected = character === ',' && this.#levels.at(-1)?.type === 'object' ? 'name' : 'value'
  }

  readonly onObjectEnd = (at: number, length: number): void => this.#close(at, length)
  readonly onArrayEnd = (at: number, length: number): void => this.#close(at, length)

  readonly onError = (_: unknown, at: number): void => {
    // The parser splits 01 and 1x into two tokens.
    const word = this.#word
    if (word?.end === at && wordCharacter.test(this.#text.charAt(at))) this.#fail(word.at, 'value')
    this.#fail(at, this.#expected)
  }

  #close(at: number, length: number): void {
    // At the end of the text, the parser also closes unclosed values, with length 0.
    if (length === 0) this.#fail(at, this.#expected)
    const level = this.#levels.pop()
    if (level) level.value.end = at + length
    this.#expectAfterValue()
  }

  #expectAfterValue(): void {
    const level = this.#levels.at(-1)
    if (level === undefined) this.#expected = 'end of text'
    else this.#expected = level.type === 'object' ? 'comma or }' : 'comma or ]'
  }

  #add(value: Located): Located {
    const { depth, values = Number.POSITIVE_INFINITY } = this.#bounds
    if (this.#levels.length > depth) this.#fail(value.at, 'less depth')
    if (++this.#values > values) this.#fail(value.at, 'fewer values')
    const level = this.#levels.at(-1)
    if (level === undefined) this.root = value
    else if (level.type === 'list') level.items.push(value)
    else level.entries.push({ key: level.name, keyAt: level.nameAt, value })
    return value
  }

  #fail(at: number, expected: JsonFault['expected']): never {
    this.fault = { at, expected }
    throw stop
  }
}
