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

/** The latest time of the messages, in ms. */
export function latestTime(messages: readonly HistoryMessage[]): number | undefined {
  const times = messages.map(timeOf).filter((time) => !Number.isNaN(time))
  return times.length === 0 ? undefined : Math.max(...times)
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

/** The field of a message that `before` takes. */
export type CursorField = 'id' | 'created_at'

/** Values for `before`. */
export type CursorValues = Partial<Record<CursorField, string>>

/** The value of `before` for a message: the field as the service sent it, if usable. */
export function cursorOf(message: HistoryMessage, field: CursorField): string | undefined {
  const value: unknown = message[field]
  if (isNumber(value)) return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The values of the first messages that have them. */
export function cursorsOf(messages: readonly HistoryMessage[]): CursorValues {
  const cursor = (field: CursorField) => {
    const message = messages.find((one) => cursorOf(one, field) !== undefined)
    return message && cursorOf(message, field)
  }
  return { id: cursor('id'), created_at: cursor('created_at') }
}
