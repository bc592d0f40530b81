type Slot<R> = { state: 'running' } | { state: 'done'; result: R } | { state: 'failed'; reason: unknown }

/** Takes items from a source, and works on them concurrently. */
class ConcurrentWork<T, R> {
  /** In the order of the items. */
  readonly slots: { now: Slot<R> }[] = []
  readonly changed = new ChangeNotifier()
  isOver = false
  isReadingSource = false
  #running = 0
  readonly #source: Iterator<T> | AsyncIterator<T>
  readonly #limit: number
  readonly #work: (item: T) => Promise<R>

  constructor(source: Iterator<T> | AsyncIterator<T>, limit: number, work: (item: T) => Promise<R>) {
    this.#source = source
    this.#limit = limit
    this.#work = work
  }

  /** Resolves when no more items are taken. */
  async startAll(): Promise<void> {
    try {
      while (!this.isOver) {
        if (this.#running >= this.#limit || this.slots.length >= 4 * this.#limit) {
          await this.changed.nextChange()
          continue
        }
        this.isReadingSource = true
        const { done, value } = await this.#source.next()
        this.isReadingSource = false
        if (done) this.isOver = true
        else if (!this.isOver) void this.#start(value)
      }
    } catch (reason) {
      this.isReadingSource = false
      this.isOver = true
      this.slots.push({ now: { state: 'failed', reason } })
    } finally {
      this.changed.notify()
    }
  }

  async #start(item: T): Promise<void> {
    const slot: { now: Slot<R> } = { now: { state: 'running' } }
    this.slots.push(slot)
    this.#running++
    try {
      slot.now = { state: 'done', result: await this.#work(item) }
    } catch (reason) {
      slot.now = { state: 'failed', reason }
      this.isOver = true
    }
    this.#running--
    this.changed.notify()
  }
}

/**
 * Maps items concurrently and yields the results in the order of the items. At most four times `concurrency`
 * results are held for a slow consumer. After an error, no more items are taken, and the error is thrown
 * after the results of the earlier items.
 */
export async function* mapInOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncIterable<R> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  const all = new ConcurrentWork(source, Math.max(1, concurrency), work)
  const starting = all.startAll()
  try {
    for (;;) {
      const first = all.slots[0]?.now
      if (first?.state === 'failed') throw first.reason
      if (first?.state === 'done') {
        all.slots.shift()
        all.changed.notify()
        yield first.result
      } else if (!first && all.isOver && !all.isReadingSource) {
        await starting
        if (all.slots.length === 0) return
      } else await all.changed.nextChange()
    }
  } finally {
    all.isOver = true
    all.changed.notify()
    // `return` of a generator waits for its pending `next`, which may never settle, for example if it reads a terminal.
    if (!all.isReadingSource) await source.return?.()
  }
}

/**
 * Runs work on all rows with concurrent workers. After an error or an abort, no more rows are taken, and the work in
 * progress finishes.
 *
 * @returns the error or abort reason that ended the run early
 */
export async function runRows<T>(
  items: Iterable<T>,
  { concurrency, signal }: { concurrency: number; signal: AbortSignal },
  work: (row: T) => Promise<void>,
): Promise<unknown> {
  // One iterator, which all workers share.
  const rows = items[Symbol.iterator]()
  let failure: { reason: unknown } | undefined
  const run = async (): Promise<void> => {
    try {
      for (let next = rows.next(); !next.done && !failure && !signal.aborted; next = rows.next()) {
        await work(next.value)
      }
    } catch (reason) {
      failure ??= { reason }
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, concurrency) }, run))
  return signal.aborted ? signal.reason : failure?.reason
}

/** Wakes all waiting callers when something has changed. */
export class ChangeNotifier {
  /** Undefined if no request waits. */
  #next: PromiseWithResolvers<void> | undefined

  nextChange(): Promise<void> {
    this.#next ??= Promise.withResolvers()
    return this.#next.promise
  }

  notify(): void {
    this.#next?.resolve()
    this.#next = undefined
  }
}
