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
  const rows = eachOf(batches)
  let failure: { reason: unknown } | undefined
  const run = async (): Promise<void> => {
    try {
      for await (const row of rows) {
        if (failure || shouldStop()) break
        await work(row)
      }
    } catch (reason) {
      failure ??= { reason }
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, concurrency) }, run))
  if (failure) throw failure.reason
}

async function* eachOf<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}
