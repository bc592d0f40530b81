import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { keysOf, MessageKeys, type PageKeys } from './message-keys.ts'

/** Messages on a page. Comparing each message of a page with each of another takes too long for more. */
const maximumSize = 1000

/**
 * The messages that the walks of one history have seen. Usually, each page is older than all before it, apart from
 * messages of the last page that it repeats. Then no keys are computed: messages with the same key have the same
 * `created_at`, so a message whose `created_at` sorts before all others is new. This needs no known notation of
 * times, because the texts are compared.
 */
export class SeenMessages {
  /** Undefined while the order of the pages is sufficient. */
  #keys: MessageKeys | undefined
  readonly #load: () => MessageKeys
  #page: readonly HistoryMessage[] = []
  #pageKeys: PageKeys = { low: [], high: [] }
  /** The part of all messages that were seen without keys. */
  #part: number | undefined
  /** Whether no message of the page was new so far. */
  #isUnchanged = true
  /** The new messages of the last page that had any. All other messages sort at or after `#leastBefore`. */
  #last: HistoryMessage[] = []
  /** The first `created_at` in the order of texts: of all messages, and of those before the last page. */
  #least: string | undefined
  #leastBefore: string | undefined

  /**
   * @param keys the messages of earlier walks. A function is called when the order of the pages is not sufficient. It
   *   returns the messages of all pages, except perhaps the last one that had new messages
   */
  constructor(keys: MessageKeys | (() => MessageKeys) = new MessageKeys()) {
    if (keys instanceof MessageKeys) this.#keys = keys
    this.#load = () => (keys instanceof MessageKeys ? keys : keys())
  }

  /** Begins a page. @returns for each message, the part that has added it first */
  find(page: readonly HistoryMessage[], part: number): (number | undefined)[] {
    this.#part ??= part
    const parts = this.#keys || part !== this.#part ? undefined : this.#findInOrder(page, part)
    this.#page = page
    this.#isUnchanged = true
    if (parts) return parts
    const all = this.#keys ?? this.#loadAll(this.#part)
    this.#keys = all
    const keys = keysOf(page)
    this.#pageKeys = keys
    return page.map((_, index) => all.find(keys, index))
  }

  /**
   * Adds a message of the page.
   *
   * @returns whether it is new
   */
  add(index: number, part: number): boolean {
    if (this.#keys) return this.#keys.add(this.#pageKeys, index, part)
    const message = this.#page[index]
    if (!message) return false
    if (this.#isUnchanged) {
      this.#isUnchanged = false
      this.#last = []
      this.#leastBefore = this.#least
    }
    this.#last.push(message)
    const { created_at: time } = message
    if (typeof time === 'string' && isBefore(time, this.#least)) this.#least = time
    return true
  }

  /** @returns undefined if keys are needed */
  #findInOrder(page: readonly HistoryMessage[], part: number): (number | undefined)[] | undefined {
    if (page.length > maximumSize) return undefined
    const parts: (number | undefined)[] = []
    let previous: string | undefined
    let steps = 0
    for (const message of page) {
      const { id, created_at: time } = message
      if (typeof id !== 'string' || id === '' || typeof time !== 'string') return undefined
      if (previous !== undefined && previous !== time) steps += previous < time ? 1 : -1
      previous = time
      const isRepeated = !isBefore(time, this.#least) && this.#last.some((other) => isSame(message, other))
      if (!isRepeated && !isBefore(time, this.#leastBefore)) return undefined
      parts.push(isRepeated ? part : undefined)
    }
    // In a page of ascending or descending times, no message has the key of another.
    const isStrict = Math.abs(steps) === page.length - 1
    return isStrict || new Set(page.map(({ id }) => id)).size === page.length ? parts : undefined
  }

  #loadAll(part: number): MessageKeys {
    const all = this.#load()
    const keys = keysOf(this.#last)
    for (const index of this.#last.keys()) all.add(keys, index, part)
    return all
  }
}

/** @param bound undefined if there is none */
function isBefore(text: string, bound: string | undefined): boolean {
  return bound === undefined || text < bound
}

/** Whether two messages with IDs have the same key. */
function isSame(one: HistoryMessage, other: HistoryMessage): boolean {
  return one.id === other.id && one.created_at === other.created_at && contextOf(one) === contextOf(other)
}

function contextOf({ context_id: context }: HistoryMessage): string | undefined {
  return typeof context === 'string' ? context : undefined
}
