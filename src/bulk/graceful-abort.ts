import type { Clock } from '../system/clock.ts'

/** Ms: how long what is under way is waited for when a run is to end. */
const patience = 4_000

/**
 * The signal of the requests of a run: while it sends, that comes some time after the one that ends
 * the run, for the outcome of an interrupted request is unknown.
 */
export class GracefulAbort {
  readonly #controller = new AbortController()
  #isSending = false
  readonly #ended = new AbortController()

  constructor({ signal, clock }: { signal: AbortSignal; clock: Clock }) {
    const abort = () => this.#controller.abort(signal.reason)
    const onAbort = () => {
      if (this.#isSending) clock.sleep(patience, this.#ended.signal).then(abort, () => {})
      else abort()
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  begin(): void {
    this.#isSending = true
  }

  end(): void {
    this.#isSending = false
    this.#ended.abort()
  }
}
