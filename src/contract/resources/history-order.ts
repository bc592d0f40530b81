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

/** The order of at least six IDs, or else times: clocks differ, and a few random IDs may be in order by chance. */
export function certainOrder(messages: readonly HistoryMessage[]): HistoryOrder | undefined {
  if (messages.length < 6) return undefined
  const ids = messages.map((message) => cursorOf(message, 'id') ?? '')
  // A number, perhaps after a prefix, is longer than a smaller one.
  const byId = orderOf(ids, (a, b) => a.length - b.length || (a < b ? -1 : Number(a > b)))
  return byId ?? orderOf(messages.map(timeOf), (a, b) => a - b)
}

function orderOf<T>(values: readonly T[], compare: (a: T, b: T) => number): HistoryOrder | undefined {
  const signs = values.slice(1).map((value, index) => Math.sign(compare(values[index] as T, value)))
  const [sign, ...others] = new Set(signs.filter(Boolean))
  if (sign === undefined || others.length > 0) return undefined
  return sign < 0 ? 'oldest first' : 'newest first'
}

/** The probable order of a page: by its first and last time, else by its roles, because a reply follows its prompt. */
export function probableOrder(messages: readonly HistoryMessage[]): HistoryOrder {
  const [first, last] = [timeOf(messages.find(hasTime)), timeOf(messages.findLast(hasTime))]
  const isReply = messages[0]?.role === 'assistant' && messages.at(-1)?.role === 'user'
  return first > last || (!(first < last) && isReply) ? 'newest first' : 'oldest first'
}

/** The messages of a page, oldest first as far as known. */
export function oldestFirst(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const order = certainOrder(messages) ?? probableOrder(messages)
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
