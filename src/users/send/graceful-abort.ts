import type { Clock } from '../../system/clock.ts'

/** In ms: how long requests in progress may take to finish after an abort. */
const patience = 4_000

/**
 * The abort signal for the requests of a run. While rows are sent, it is aborted some time after the signal
 * of the run, because the outcome of an interrupted request is unknown.
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
