import type { HistoryMessage } from '../contract/conversation.ts'
import { cursorOf } from '../contract/history-order.ts'

/**
 * Which messages were seen, in 20 bytes for each: a set of ids would take ten times that. A message
 * is known by 64 bits of a hash, so that of a million messages two are taken for one with a
 * probability of 1 to 10^7.
 *
 * Each belongs to a *part*, a number, by which the walks that share a table are told apart.
 */
export class MessageKeys {
  #low = new Uint32Array(1024)
  #high = new Uint32Array(1024)
  /** The part and one; 0 is an empty place. */
  #parts = new Uint16Array(1024)
  #size = 0

  /** The part that had it first. */
  find(key: MessageKey): number | undefined {
    const part = this.#parts[this.#placeOf(key)] ?? 0
    return part === 0 ? undefined : part - 1
  }

  add(key: MessageKey, part = 0): void {
    const place = this.#placeOf(key)
    if (this.#parts[place] !== 0) return
    this.#low[place] = key.low
    this.#high[place] = key.high
    this.#parts[place] = part + 1
    this.#size += 1
    if (this.#size * 2 > this.#parts.length) this.#grow()
  }

  #placeOf({ low, high }: MessageKey): number {
    const mask = this.#parts.length - 1
    let place = low & mask
    while (this.#parts[place] !== 0 && (this.#low[place] !== low || this.#high[place] !== high)) {
      place = (place + 1) & mask
    }
    return place
  }

  #grow(): void {
    const [lows, highs, parts] = [this.#low, this.#high, this.#parts]
    const length = parts.length * 2
    this.#low = new Uint32Array(length)
    this.#high = new Uint32Array(length)
    this.#parts = new Uint16Array(length)
    for (const [index, part] of parts.entries()) {
      if (part === 0) continue
      const [low = 0, high = 0] = [lows[index], highs[index]]
      const place = this.#placeOf({ low, high })
      this.#low[place] = low
      this.#high[place] = high
      this.#parts[place] = part
    }
  }
}

/** 64 bits of hash. */
export interface MessageKey {
  low: number
  high: number
}

/**
 * The keys of a page's messages, in its order. An id may be one of its conversation alone, so that
 * the time counts too. Of messages without an id that are the same in all else each has a key of
 * its own: two people may well say "ok" in the same second.
 */
export function keysOf(messages: readonly HistoryMessage[]): MessageKey[] {
  const counts = new Map<string, number>()
  return messages.map((message) => {
    const id = cursorOf(message, 'id')
    const context: unknown = message['context_id']
    const where = typeof context === 'string' ? context : ''
    if (id !== undefined) return hash(`${id}\n${message.created_at}\n${where}`)
    const all = JSON.stringify([message.created_at, message.role, message.content, where])
    const count = counts.get(all) ?? 0
    counts.set(all, count + 1)
    return hash(`${all}${count}`)
  })
}

/** Two multiplicative hashes of 32 bits (FNV-1a and one with another multiplier), each mixed at its end. */
function hash(text: string): MessageKey {
  let low = 0x811c9dc5
  let high = 0x9e3779b9
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul((high << 5) ^ (high >>> 27) ^ unit, 0x5bd1e995)
  }
  return { low: mix(low), high: mix(high) }
}

/** Every bit of the result depends on every bit of the input. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
