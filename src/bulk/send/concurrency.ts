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
  const changed = new ChangeNotifier()
  const results: Promise<R>[] = []
  let running = 0
  let isOver = false
  let isReadingSource = false
  const start = async (item: T): Promise<R> => {
    running++
    try {
      return await work(item)
    } catch (error) {
      isOver = true
      throw error
    } finally {
      running--
      changed.notify()
    }
  }
  const hold = (result: Promise<R>): void => {
    // Thrown when it is awaited below, after the earlier results.
    result.catch(() => {})
    results.push(result)
    changed.notify()
  }
  const startAll = async (): Promise<void> => {
    while (!isOver) {
      if (running >= limit || results.length >= 4 * limit) {
        await changed.nextChange()
        continue
      }
      isReadingSource = true
      const { done, value } = await source.next()
      isReadingSource = false
      if (done) isOver = true
      else if (!isOver) hold(start(value))
    }
  }
  startAll()
    .catch((error: unknown) => {
      isReadingSource = false
      isOver = true
      hold(Promise.reject(error))
    })
    .finally(() => changed.notify())
  try {
    while (results.length > 0 || !isOver || isReadingSource) {
      const [first] = results
      if (first) {
        const result = await first
        results.shift()
        changed.notify()
        yield result
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
