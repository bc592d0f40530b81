import { isNumber } from '../notation/exact-json.ts'
import type { HistoryMessage } from './conversation.ts'

/** The interface does not document the order of the messages in a page. */
export type HistoryOrder = 'oldest first' | 'newest first'

/** `created_at` in ms; NaN if it is missing. A number is Unix time, in s or ms. */
export function timeOf(message: HistoryMessage | undefined): number {
  const time: unknown = message?.created_at
  if (typeof time === 'string') return Date.parse(time)
  if (!isNumber(time)) return Number.NaN
  const number = Number(time)
  return number < 1e11 ? number * 1000 : number
}

/** The time of the first message that has one, in ms. */
export function firstTime(messages: readonly HistoryMessage[]): number | undefined {
  const message = messages.find(hasTime)
  return message && timeOf(message)
}

/** The order of a page by its first and last time; undefined if they are equal. */
export function orderByTimes(messages: readonly HistoryMessage[]): HistoryOrder | undefined {
  const first = timeOf(messages.find(hasTime))
  const last = timeOf(messages.findLast(hasTime))
  if (first < last) return 'oldest first'
  return first > last ? 'newest first' : undefined
}

/** The order of a page without usable times: a reply follows its prompt. */
export function orderByRoles(messages: readonly HistoryMessage[]): HistoryOrder {
  const isTurned = messages[0]?.role === 'assistant' && messages.at(-1)?.role === 'user'
  return isTurned ? 'newest first' : 'oldest first'
}

/** The messages of a page, oldest first as far as known. */
export function oldestFirst(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const order = orderByTimes(messages) ?? orderByRoles(messages)
  return order === 'newest first' ? messages.toReversed() : messages
}

function hasTime(message: HistoryMessage): boolean {
  return !Number.isNaN(timeOf(message))
}

/** The value of `before` for a message: the field as the service sent it, if usable. */
export function cursorOf(message: HistoryMessage, field: 'id' | 'created_at'): string | undefined {
  const value: unknown = message[field]
  if (isNumber(value)) return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
