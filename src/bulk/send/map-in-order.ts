import { ChangeNotifier } from './change-notifier.ts'

type Slot<R> = { state: 'running' } | { state: 'done'; result: R } | { state: 'failed'; reason: unknown }

/**
 * Does the work of all items, so many at a time, and gives the results in the order of the items;
 * no more than four times as many are ahead of who takes them. A throw stops the taking of items
 * and is thrown in its turn, after the results before it.
 */
export async function* mapInOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncIterable<R> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  const most = Math.max(1, concurrency)
  const slots: { now: Slot<R> }[] = []
  const changed = new ChangeNotifier()
  let running = 0
  let isOver = false
  let isAsking = false

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
    changed.ring()
  }
  const takeAll = async (): Promise<void> => {
    while (!isOver) {
      if (running >= most || slots.length >= 4 * most) {
        await changed.changed()
        continue
      }
      isAsking = true
      const { done, value } = await source.next()
      isAsking = false
      if (done) isOver = true
      else if (!isOver) void start(value)
    }
  }
  const taking = takeAll()
    .catch((reason) => {
      isAsking = false
      isOver = true
      slots.push({ now: { state: 'failed', reason } })
    })
    .finally(() => changed.ring())

  try {
    for (;;) {
      const first = slots[0]?.now
      if (first?.state === 'failed') throw first.reason
      if (first?.state === 'done') {
        slots.shift()
        changed.ring()
        yield first.result
      } else if (!first && isOver && !isAsking) {
        await taking
        if (slots.length === 0) return
      } else await changed.changed()
    }
  } finally {
    isOver = true
    changed.ring()
    // A source that is being asked, such as a terminal, would answer only to that first.
    if (!isAsking) await source.return?.()
  }
}
