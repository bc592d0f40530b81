import type { Clock } from '../../system/clock.ts'

const waiting = 'waiting…'

/** The status line of a session or a command: what it waits for, and the seconds that have elapsed or remain. */
export class Status {
  readonly #onChange: () => void
  readonly #clock: Clock
  readonly #interval: number
  #describe: (() => string) | undefined
  #timer: NodeJS.Timeout | undefined
  /** The text for requests, until `clear`. */
  #purpose = waiting

  /** @param interval time between two calls of `onChange` in ms */
  constructor(onChange: () => void, clock: Clock, interval = 1000) {
    this.#onChange = onChange
    this.#clock = clock
    this.#interval = interval
  }

  get text(): string | undefined {
    return this.#describe?.()
  }

  /** Shows a text, and after one second the elapsed time. */
  showElapsed(text: string): void {
    const began = this.#clock.monotonic()
    this.#set(() => {
      const seconds = Math.floor((this.#clock.monotonic() - began) / 1000)
      return seconds < 1 ? text : `${text} ${seconds} s`
    })
  }

  /** The same; `restart` shows this text again until `clear`. */
  begin(text: string): void {
    this.#purpose = text
    this.showElapsed(text)
  }

  /** Shows the text of `begin` again, for another request. */
  restart(): void {
    this.showElapsed(this.#purpose)
  }

  showRemaining(ms: number, text: (seconds: number) => string): void {
    const end = this.#clock.monotonic() + ms
    this.#set(() => text(Math.max(0, Math.ceil((end - this.#clock.monotonic()) / 1000))))
  }

  /** Shows a text for some milliseconds. */
  showBriefly(text: string, ms: number): void {
    this.#set(() => text)
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
    this.#timer = setInterval(this.#onChange, this.#interval)
    this.#timer.unref()
  }
}
