import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../src/system/clock.ts'

/** A clock that a test controls. `run` moves it to the next timer when nothing else is left to do. */
export class SteppedClock implements Clock {
  readonly #sleepers: { at: number; wake: () => void }[] = []
  readonly #random: () => number
  #now: number
  #passed = 0

  constructor(random: () => number = () => 0.5, start = Date.parse('2026-03-01T12:00:00Z')) {
    this.#random = random
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#passed
  }

  pass(ms: number): void {
    this.set(this.#now + ms)
    this.#passed += ms
  }

  /** Sets the clock, like the admin of a machine. */
  set(now: number): void {
    this.#now = now
  }

  random(): number {
    return this.#random()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      this.#sleepers.push({ at: this.#now + ms, wake: resolve })
    })
  }

  /** Moves the clock until the work is done. Throws if no timer is left that could end the work. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isOver = false
    const end = () => {
      isOver = true
    }
    work.then(end, end)
    for (await turn(); !isOver; await turn()) {
      this.#sleepers.sort((a, b) => a.at - b.at)
      const next = this.#sleepers.shift()
      if (!next) throw new Error('nothing is waited for, and the work is not done')
      this.pass(Math.max(0, next.at - this.#now))
      next.wake()
    }
    return work
  }
}

/** A clock whose sleeps end immediately. They move it, and are recorded. */
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
