/**
 * Runs work on all rows with concurrent workers. After an error, no more rows are taken, the work in progress
 * finishes, and the error is thrown.
 *
 * @param shouldStop called before each row
 */
export async function runRows<T>(
  batches: AsyncIterable<readonly T[]>,
  concurrency: number,
  work: (row: T) => Promise<void>,
  shouldStop: () => boolean,
): Promise<void> {
  const source = batches[Symbol.asyncIterator]()
  let batch: readonly T[] = []
  let index = 0
  let refilling: Promise<void> | undefined
  let isOver = false
  let failure: { reason: unknown } | undefined

  const refill = async (): Promise<void> => {
    const { done, value } = await source.next()
    if (done) isOver = true
    else [batch, index] = [value, 0]
  }
  const run = async (): Promise<void> => {
    while (!failure && !isOver && !shouldStop()) {
      if (index >= batch.length) {
        refilling ??= refill().finally(() => {
          refilling = undefined
        })
        await refilling
        continue
      }
      const row = batch[index++] as T
      await work(row)
    }
  }
  const runGuarded = async (): Promise<void> => {
    try {
      await run()
    } catch (reason) {
      failure ??= { reason }
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, concurrency) }, runGuarded))
  if (!isOver) await source.return?.()
  if (failure) throw failure.reason
}
