import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { cursorOf } from '../../contract/resources/history-order.ts'

/**
 * The messages that were seen, by their keys. Each has a *part*, a number that identifies one of the walks that share
 * the map.
 */
export type SeenMessages = Map<number, number>

/**
 * The keys of the messages of a page, in its order: 53 bits of hash. Among 100,000 messages, the probability that any
 * two collide is about 1 in 10^6. An ID may be unique only within its conversation, so the key includes the time and
 * the conversation. Equal messages without an ID get different keys: two people may say "ok" in the same second.
 */
export function keysOf(messages: readonly HistoryMessage[]): number[] {
  const counts = new Map<string, number>()
  return messages.map((message) => {
    const { created_at: time, context_id: context } = message
    const id = cursorOf(message, 'id')
    if (id !== undefined) return hashOf(id, String(time), typeof context === 'string' ? context : '')
    const all = JSON.stringify([time, message.role, message.content, context])
    const count = counts.get(all) ?? 0
    counts.set(all, count + 1)
    return hashOf(all, String(count))
  })
}

/** A hash of a list of texts, as hexadecimal digits. Loading node:crypto would take 4 ms. */
export function digestOf(texts: readonly string[]): string {
  return hashOf(...texts)
    .toString(16)
    .padStart(16, '0')
}

/** 53 bits of hash for a list of texts: two multiplicative hashes of 32 bits, side by side. */
function hashOf(...texts: string[]): number {
  let low = 0x811c9dc5
  let high = 0x9e3779b9
  for (const text of texts) {
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index)
      low = Math.imul(low ^ unit, 0x9e3779b1)
      high = Math.imul(high ^ unit, 0x5f356495)
    }
    // A separator, so that the boundaries between texts count.
    low = Math.imul(low ^ 0x10000, 0x9e3779b1)
    high = Math.imul(high ^ 0x10000, 0x5f356495)
  }
  return (mix(high ^ (low >>> 15)) & 0x1fffff) * 2 ** 32 + mix(low ^ (high >>> 13))
}

/** Every bit of the result depends on every bit of the input. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
