/**
 * Starts jobs in the order of the calls, at most `size` at a time.
 *
 * @returns a function that runs a job and returns its result
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
