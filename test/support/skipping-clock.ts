import type { Clock } from '../../src/system/clock.ts'

/** A clock whose sleeps end at once. They move it, and are recorded. */
export class SkippingClock implements Clock {
  /** In seconds. */
  readonly sleeps: number[] = []
  readonly #start: number
  #passed = 0

  constructor(start = Date.now()) {
    this.#start = start
  }

  now(): number {
    return this.#start + this.#passed
  }

  monotonic(): number {
    return this.#passed
  }

  random(): number {
    return 0.5
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    this.sleeps.push(ms / 1_000)
    this.#passed += ms
  }
}
