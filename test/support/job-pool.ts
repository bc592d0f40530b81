/**
 * Runs jobs in the order in which they are given, at most `size` at a time.
 *
 * @returns a function that takes a job and resolves to what it gives
 */
export function createJobPool(size: number): <T>(job: () => Promise<T>) => Promise<T> {
  let free = size
  const waiting: (() => void)[] = []
  return async (job) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await job()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
