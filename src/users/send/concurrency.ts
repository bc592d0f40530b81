type Slot<R> = { state: 'running' } | { state: 'done'; result: R } | { state: 'failed'; reason: unknown }

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
  const limit = Math.max(1, concurrency)
  const slots: { now: Slot<R> }[] = []
  const changed = new ChangeNotifier()
  let running = 0
  let isOver = false
  let isReadingSource = false

  const start = async (item: T): Promise<void> => {
    const slot: { now: Slot<R> } = { now: { state: 'running' } }
    slots.push(slot)
    running++
    try {
      slot.now = { state: 'done', result: await work(item) }
    } catch (reason) {
      slot.now = { state: 'failed', reason }
      isOver = true
    }
    running--
    changed.notify()
  }
  const startAll = async (): Promise<void> => {
    while (!isOver) {
      if (running >= limit || slots.length >= 4 * limit) {
        await changed.nextChange()
        continue
      }
      isReadingSource = true
      const { done, value } = await source.next()
      isReadingSource = false
      if (done) isOver = true
      else if (!isOver) void start(value)
    }
  }
  const starting = startAll()
    .catch((reason) => {
      isReadingSource = false
      isOver = true
      slots.push({ now: { state: 'failed', reason } })
    })
    .finally(() => changed.notify())

  try {
    for (;;) {
      const first = slots[0]?.now
      if (first?.state === 'failed') throw first.reason
      if (first?.state === 'done') {
        slots.shift()
        changed.notify()
        yield first.result
      } else if (!first && isOver && !isReadingSource) {
        await starting
        if (slots.length === 0) return
      } else await changed.nextChange()
    }
  } finally {
    isOver = true
    changed.notify()
    // `return` of a generator waits for its pending `next`, which may never settle, for example if it reads a terminal.
    if (!isReadingSource) await source.return?.()
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
  const rows = [...items].values()
  let failure: { reason: unknown } | undefined
  const run = async (): Promise<void> => {
    try {
      for (const row of rows) {
        if (failure || signal.aborted) break
        await work(row)
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
  /** Undefined if nobody waits. */
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
