import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Decoder, Unit } from './unit.ts'

/** Events that only keep a connection open. */
const aliveNames = /^(ping|heartbeat|keep-?alive)$/i

/**
 * Decodes server-sent events. What their data is, JSON or bare text, is settled by the first
 * event and kept: a model's text may well be `42`, `null` or `"quoted"`.
 */
export class EventStream implements Decoder {
  #data: 'unknown' | 'json' | 'text' = 'unknown'
  #units: Unit[] = []
  #ending = false
  readonly #parser = createParser({ onEvent: (message) => this.#read(message) })

  push(text: string): Unit[] {
    this.#parser.feed(text)
    return this.#units.splice(0)
  }

  /** An event without its blank line was never dispatched, but counts where it can be read. */
  end(): Unit[] {
    this.#ending = true
    this.#parser.feed('\n\n')
    return this.#units.splice(0)
  }

  #read({ event, data }: EventSourceMessage): void {
    if (event !== undefined && aliveNames.test(event)) return
    const trimmed = data.trim()
    const named = event === undefined ? {} : { event }
    if (trimmed === '[DONE]') {
      this.#units.push({ type: 'done' })
      return
    }
    if (this.#ending && trimmed !== '' && '[DONE]'.startsWith(trimmed)) {
      this.#units.push({ type: 'broken' })
      return
    }
    // In a stream of bare text, only an event with a name of its own may carry more.
    const value = this.#data === 'text' && event === undefined ? undefined : readValue(trimmed)
    if (value !== undefined) {
      if (this.#data === 'unknown') this.#data = 'json'
      this.#units.push({ type: 'json', value, ...named })
    } else if (this.#data !== 'text' && (this.#ending ? /^[{["]/ : /^[{[]\s*["{[]/).test(trimmed)) {
      this.#units.push({ type: 'broken' })
    } else if (this.#data !== 'json' || event !== undefined) {
      if (this.#data === 'unknown' && data !== '') this.#data = 'text'
      this.#units.push({ type: 'text', text: data, ...named })
    }
  }
}

/** An object, array or string; a bare number or word is text. */
function readValue(text: string): unknown {
  if (!/^[{["]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
