import { parseJson } from '../../contract/notation/exact-json.ts'
import type { Decoder, StreamUnit } from './frame.ts'

const recordSeparator = '\u001e'
const space = /\s/

/**
 * Decodes sequences of JSON values: one body in any layout, NDJSON, the elements of one array while they
 * arrive, and RFC 7464 sequences.
 */
export class JsonValues implements Decoder {
  /** Number of values so far. */
  count = 0
  /** Whether the values are elements of one array, and whether it has ended. */
  array: 'none' | 'open' | 'closed' = 'none'
  /** Earlier parts of the current value, joined when it is complete. */
  #earlier: string[] = []
  #text = ''
  /** Index at which the current value begins or continues in the text. */
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
    else if (this.#kind !== 'between') units.push({ type: 'unreadable' })
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
    // RFC 7464 section 2.3: a separator inside a value means that the value is truncated. A string of JSON
    // contains no line breaks.
    if (character === recordSeparator || (this.#quoted && character === '\n')) {
      units.push({ type: 'unreadable' })
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
      units.push(value === '[DONE]' ? { type: 'done' } : { type: 'unreadable' })
    }
    this.#kind = 'between'
    this.#discard()
  }

  #discard(): void {
    this.#earlier = []
    this.#start = this.#position
  }
}
