/**
 * What a session waits for, in a line that changes while it waits: the seconds so far, or those
 * that are left.
 */
export class Status {
  readonly #onChange: () => void
  #describe: (() => string) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get text(): string | undefined {
    return this.#describe?.()
  }

  /** `words` and how long it has been so, once that is worth saying. */
  since(words: string): void {
    const began = Date.now()
    this.#set(() => {
      const seconds = Math.floor((Date.now() - began) / 1000)
      return seconds < 1 ? words : `${words} ${seconds} s`
    })
  }

  /** `words` and how long it will be, in seconds. */
  until(at: number, words: (seconds: number) => string): void {
    this.#set(() => words(Math.max(0, Math.ceil((at - Date.now()) / 1000))))
  }

  /** `words` for some milliseconds. */
  briefly(words: string, ms: number): void {
    this.#set(() => words)
    clearInterval(this.#timer)
    this.#timer = setTimeout(() => this.clear(), ms)
    this.#timer.unref()
  }

  clear(): void {
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
