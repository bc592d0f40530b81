import { isRecord } from '../../contract/notation/exact-json.ts'
import { reasoningFields } from '../../contract/resources/reasoning.ts'
import { readFrame, type StreamUnit } from './frame.ts'
import { JsonValues } from './json-values.ts'

/** Maximum number of characters before a decision. */
const maxLength = 64 * 1024

/** Every known frame has one of these keys. Any other object is part of the text of a reply. */
const frameKeys = [
  ...['choices', 'delta', 'message', 'response', 'content', 'text', 'error', 'done', 'usage', 'model', 'id'],
  ...['context_id', 'finish_reason', 'done_reason', 'stop_reason', 'type', 'event', 'object'],
]

/**
 * Detects JSON frames by the first complete value. The text of a model may also begin with a brace or a
 * quotation mark, and may itself be JSON.
 */
export class JsonProbe {
  readonly #opening: string
  readonly #values = new JsonValues()
  #units: StreamUnit[] = []
  #length = 0
  /** Whether the character after the opening one has been checked. */
  #isPlausible = false
  /** The last character so far. */
  #last = ''
  /** A string so far, and the text after it. */
  #string = ''
  #escaped = false
  #follows: string | undefined

  /** @param opening the first character: a brace, a bracket, or a quotation mark */
  constructor(opening: string) {
    this.#opening = opening
  }

  /** @returns undefined while more is needed */
  push(text: string, ended: boolean): 'json' | 'text' | undefined {
    const part = text.slice(0, maxLength - this.#length)
    const isFirst = this.#length === 0
    this.#length += part.length
    const isOver = ended || this.#length === maxLength
    return this.#opening === '"'
      ? this.#pushString(isFirst ? part.slice(1) : part, isOver)
      : this.#pushNested(part, isFirst, isOver)
  }

  #pushNested(part: string, isFirst: boolean, isOver: boolean): 'json' | 'text' | undefined {
    const second = this.#isPlausible ? '' : (isFirst ? part.slice(1) : part).trimStart().charAt(0)
    if (second !== '') {
      if (!(this.#opening === '{' ? '"}' : '"{]').includes(second)) return 'text'
      this.#isPlausible = true
    }
    this.#units.push(...this.#values.push(part))
    this.#last = part.at(-1) ?? this.#last
    const [first] = this.#units
    if (!first) return isOver ? 'json' : undefined
    if (this.#units.some(({ type }) => type === 'unreadable')) return 'text'
    if (first.type === 'json' && isRecord(first.value) && !isFrame(first.value)) return 'text'
    // The text after a lone object decides whether a sentence quotes it.
    const isAlone = this.#values.array === 'none' && !/[\r\n]/.test(this.#last) && this.#units.length === 1
    if (!isAlone) return 'json'
    if (!isOver) return undefined
    return first.type === 'json' && isReplyFrame(first.value) ? 'json' : 'text'
  }

  #pushString(part: string, isOver: boolean): 'json' | 'text' | undefined {
    let at = 0
    while (this.#follows === undefined && at < part.length) {
      const character = part.charAt(at++)
      if (this.#escaped) this.#escaped = false
      else if (character === '\\') this.#escaped = true
      else if (character === '"') this.#follows = ''
    }
    this.#string += part.slice(0, at)
    if (this.#follows === undefined) return isOver ? 'text' : undefined
    this.#follows += part.slice(at)
    if (!isJsonText(`"${this.#string}`)) return 'text'
    if (/^\r?\n/.test(this.#follows)) return 'json'
    if (this.#follows !== '' && this.#follows !== '\r') return 'text'
    return isOver ? 'json' : undefined
  }
}

function isFrame(value: Record<string, unknown>): boolean {
  if (frameKeys.some((key) => Object.hasOwn(value, key))) return true
  // A model may reply with an object of which the reasoning is one field.
  const keys: readonly string[] = Object.keys(value)
  return keys.length > 0 && keys.every((key) => reasoningFields.some((field) => field === key))
}

/** Whether a single value is a frame of a reply, not its text. */
function isReplyFrame(value: unknown): boolean {
  const { text, error, ends, continues } = readFrame(value)
  return text !== undefined || error !== undefined || ends !== undefined || continues === true
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
