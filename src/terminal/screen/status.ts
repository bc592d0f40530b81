import type { Clock } from '../../system/clock.ts'

const waiting = 'waiting…'

/**
 * What a session waits for, in a line that changes while it waits: the seconds so far, or those
 * that are left.
 */
export class Status {
  readonly #onChange: () => void
  readonly #clock: Clock
  #describe: (() => string) | undefined
  #timer: NodeJS.Timeout | undefined
  /** What requests are for, as long as it lasts. */
  #purpose = waiting

  constructor(onChange: () => void, clock: Clock) {
    this.#onChange = onChange
    this.#clock = clock
  }

  get text(): string | undefined {
    return this.#describe?.()
  }

  /** `words` and how long it has been so, once that is worth saying. */
  showElapsed(words: string): void {
    const began = this.#clock.monotonic()
    this.#set(() => {
      const seconds = Math.floor((this.#clock.monotonic() - began) / 1000)
      return seconds < 1 ? words : `${words} ${seconds} s`
    })
  }

  /** The same, and `request` comes back to these words until they are cleared. */
  begin(words: string): void {
    this.#purpose = words
    this.showElapsed(words)
  }

  /** A request has left, perhaps not the first for what it is for. */
  restart(): void {
    this.showElapsed(this.#purpose)
  }

  /** `words` and how long it will be, in seconds. */
  showRemaining(ms: number, words: (seconds: number) => string): void {
    const end = this.#clock.monotonic() + ms
    this.#set(() => words(Math.max(0, Math.ceil((end - this.#clock.monotonic()) / 1000))))
  }

  /** `words` for some milliseconds. */
  showBriefly(words: string, ms: number): void {
    this.#set(() => words)
    clearInterval(this.#timer)
    this.#timer = setTimeout(() => this.clear(), ms)
    this.#timer.unref()
  }

  clear(): void {
    this.#purpose = waiting
    clearInterval(this.#timer)
    this.#timer = undefined
    if (!this.#describe) return
    this.#describe = undefined
    this.#onChange()
  }

  #set(describe: () => string): void {
    clearInterval(this.#timer)
    this.#describe = describe
    this.#onChange()
    this.#timer = setInterval(this.#onChange, 1000)
    this.#timer.unref()
  }
}
