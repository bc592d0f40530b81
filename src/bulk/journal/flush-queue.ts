import { fdatasync } from 'node:fs'

/** Flushes a file to disk: one call of the system for all that wait. */
export class FlushQueue {
  readonly #file: () => number | undefined
  readonly #failureOf: (cause: Error) => Error
  #waiting: ((error?: Error) => void)[] = []
  #isFlushing = false

  /** @param file undefined where nothing was written yet */
  constructor(file: () => number | undefined, failureOf: (cause: Error) => Error) {
    this.#file = file
    this.#failureOf = failureOf
  }

  /** Resolves when all that was written before is on disk. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((error) => (error ? reject(error) : resolve()))
      this.#next()
    })
  }

  #next(): void {
    if (this.#isFlushing || this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    const file = this.#file()
    if (file === undefined) {
      for (const settle of waiting) settle()
      return
    }
    this.#isFlushing = true
    fdatasync(file, (cause) => {
      this.#isFlushing = false
      const failure = cause === null ? undefined : this.#failureOf(cause)
      for (const settle of waiting) settle(failure)
      this.#next()
    })
  }
}
