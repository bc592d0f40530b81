import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { cursorOf } from '../../contract/resources/history-order.ts'

/** 64 bits of hash for each message of a page. */
export interface PageKeys {
  readonly low: readonly number[]
  readonly high: readonly number[]
}

/**
 * A hash set of the messages that were seen. Takes 20 to 80 bytes per message, several times less than a
 * set of IDs. A message is identified by a 64-bit hash: among a million messages, the probability that
 * any two collide is about 1 in 10^7.
 *
 * Each message has a *part*, a number that identifies one of the walks that share the set.
 */
export class MessageKeys {
  #low = new Uint32Array(1024)
  #high = new Uint32Array(1024)
  /** The part plus one; 0 is an empty slot. */
  #parts = new Uint16Array(1024)
  #size = 0

  /** The part that added the message first. */
  find(keys: PageKeys, index: number): number | undefined {
    const part = this.#parts[this.#slotOf(keys.low[index] ?? 0, keys.high[index] ?? 0)] ?? 0
    return part === 0 ? undefined : part - 1
  }

  /** @returns whether it is new */
  add(keys: PageKeys, index: number, part: number): boolean {
    const low = keys.low[index] ?? 0
    const high = keys.high[index] ?? 0
    const slot = this.#slotOf(low, high)
    if (this.#parts[slot] !== 0) return false
    this.#put(slot, low, high, part + 1)
    this.#size += 1
    if (this.#size * 2 > this.#parts.length) this.#grow()
    return true
  }

  #slotOf(low: number, high: number): number {
    const mask = this.#parts.length - 1
    let slot = low & mask
    while (this.#parts[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) {
      slot = (slot + 1) & mask
    }
    return slot
  }

  #put(slot: number, low: number, high: number, part: number): void {
    this.#low[slot] = low
    this.#high[slot] = high
    this.#parts[slot] = part
  }

  #grow(): void {
    const [lows, highs, parts] = [this.#low, this.#high, this.#parts]
    // Grow by a factor of four, because each growth rehashes every key.
    this.#low = new Uint32Array(parts.length * 4)
    this.#high = new Uint32Array(parts.length * 4)
    this.#parts = new Uint16Array(parts.length * 4)
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] ?? 0
      if (part === 0) continue
      const low = lows[index] ?? 0
      const high = highs[index] ?? 0
      this.#put(this.#slotOf(low, high), low, high, part)
    }
  }
}

/**
 * The keys of the messages of a page, in its order. An ID may be unique only within its conversation, so
 * the key includes the time and the context. Equal messages without an ID get different keys: two people
 * may say "ok" in the same second.
 */
export function keysOf(messages: readonly HistoryMessage[]): PageKeys {
  // No typed arrays: each would allocate memory outside of the heap.
  const keys = { low: [] as number[], high: [] as number[] }
  const counts = new Map<string, number>()
  for (const message of messages) {
    const { created_at: time, context_id: context } = message
    const id = cursorOf(message, 'id')
    hashing.start()
    if (id === undefined) {
      const all = JSON.stringify([time, message.role, message.content, context])
      const count = counts.get(all) ?? 0
      counts.set(all, count + 1)
      hashing.take(`${all}${count}`)
    } else {
      hashing.take(id)
      hashing.take(String(time))
      if (typeof context === 'string') hashing.take(context)
    }
    keys.low.push(mix(hashing.low))
    keys.high.push(mix(hashing.high))
  }
  return keys
}

/** 64 bits of hash for a list of texts, as hexadecimal digits. Loading node:crypto would take 4 ms. */
export function digestOf(texts: readonly string[]): string {
  hashing.start()
  for (const text of texts) hashing.take(text)
  const hex = (bits: number) => mix(bits).toString(16).padStart(8, '0')
  return hex(hashing.high) + hex(hashing.low)
}

/** Two multiplicative hashes of 32 bits (FNV-1a and one with another multiplier), side by side. */
const hashing = {
  low: 0,
  high: 0,
  start(): void {
    this.low = 0x811c9dc5
    this.high = 0x9e3779b9
  },
  take(text: string): void {
    let { low, high } = this
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      low = Math.imul(low ^ unit, 0x01000193)
      high = Math.imul((high << 5) ^ (high >>> 27) ^ unit, 0x5bd1e995)
    }
    // A separator, so that the boundaries between texts count.
    this.low = Math.imul(low ^ 0x10000, 0x01000193)
    this.high = Math.imul(high ^ 0x10000, 0x5bd1e995)
  },
}

/** Every bit of the result depends on every bit of the input. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
