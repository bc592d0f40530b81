import { parseJson } from '../../contract/exact-json.ts'
import type { Decoder, StreamUnit } from './stream-unit.ts'

const recordSeparator = '\u001e'
const space = /\s/

/**
 * Decodes every form that is JSON values in a row: one body however it is laid out, NDJSON, the
 * elements of one array as they come, and RFC 7464 sequences.
 */
export class JsonValues implements Decoder {
  /** Values that have come. */
  count = 0
  /** Whether all is inside one array, and whether that has ended. */
  array: 'none' | 'open' | 'closed' = 'none'
  /** What came earlier of the value that is being read; joined once, when it is whole. */
  #earlier: string[] = []
  #text = ''
  /** Where the value that is being read begins in the text, or goes on. */
  #start = 0
  #position = 0
  #depth = 0
  #kind: 'between' | 'nested' | 'string' | 'scalar' = 'between'
  #quoted = false
  #escaped = false
  #began = false

  push(text: string): StreamUnit[] {
    const units: StreamUnit[] = []
    this.#text = text
    this.#start = 0
    this.#position = 0
    while (this.#position < text.length) {
      const character = text.charAt(this.#position)
      if (this.#kind === 'between') this.#begin(character)
      else this.#continue(character, units)
    }
    if (this.#kind !== 'between') this.#earlier.push(text.slice(this.#start))
    this.#text = ''
    this.#start = 0
    this.#position = 0
    return units
  }

  end(): StreamUnit[] {
    const units: StreamUnit[] = []
    if (this.#kind === 'scalar') this.#take(units)
    else if (this.#kind !== 'between') units.push({ type: 'broken' })
    this.#kind = 'between'
    return units
  }

  #begin(character: string): void {
    const outermost = character === '[' && !this.#began
    if (
      character === recordSeparator ||
      space.test(character) ||
      outermost ||
      this.#isPunctuation(character)
    ) {
      if (outermost) this.array = 'open'
      if (character === ']') this.array = 'closed'
      if (!space.test(character)) this.#began = true
      this.#position++
      return
    }
    this.#began = true
    this.#discard()
    this.#depth = character === '{' || character === '[' ? 1 : 0
    this.#kind = this.#depth === 1 ? 'nested' : character === '"' ? 'string' : 'scalar'
    this.#quoted = this.#kind === 'string'
    this.#escaped = false
    this.#position++
  }

  #isPunctuation(character: string): boolean {
    return this.array === 'open' && (character === ',' || character === ']')
  }

  #continue(character: string, units: StreamUnit[]): void {
    // RFC 7464 section 2.3: a separator inside a value means that the value was cut off.
    if (character === recordSeparator) {
      units.push({ type: 'broken' })
      this.#kind = 'between'
      return
    }
    if (this.#kind === 'scalar') {
      if (space.test(character) || this.#isPunctuation(character)) this.#take(units)
      else this.#position++
      return
    }
    this.#position++
    if (this.#quoted) {
      if (this.#escaped) this.#escaped = false
      else if (character === '\\') this.#escaped = true
      else if (character === '"') this.#quoted = false
    } else if (character === '"') this.#quoted = true
    else if (character === '{' || character === '[') this.#depth++
    else if (character === '}' || character === ']') this.#depth--
    if (!this.#quoted && this.#depth === 0) this.#take(units)
  }

  #take(units: StreamUnit[]): void {
    const value = this.#earlier.join('') + this.#text.slice(this.#start, this.#position)
    try {
      units.push({ type: 'json', value: parseJson(value) })
      this.count++
    } catch {
      units.push(value === '[DONE]' ? { type: 'done' } : { type: 'broken' })
    }
    this.#kind = 'between'
    this.#discard()
  }

  #discard(): void {
    this.#earlier = []
    this.#start = this.#position
  }
}
