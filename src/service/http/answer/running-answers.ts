import type { ServerResponse } from 'node:http'
import { clientLeft } from './error-answer.ts'

/**
 * The answers that somebody still waits for, and what ends them early: the client goes away, or
 * the service stops. `AbortSignal.any` says the same at several times the cost.
 */
export class RunningAnswers {
  readonly #controllers = new Set<AbortController>()
  readonly #stopping: AbortSignal

  /** @param stopping aborted when what still runs is to end */
  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener('abort', () => {
      for (const controller of this.#controllers) controller.abort(stopping.reason)
    })
  }

  /** Aborted as soon as the answer is of no use any more. To be asked for once for each answer. */
  signalFor(response: ServerResponse): AbortSignal {
    const controller = new AbortController()
    if (this.#stopping.aborted) controller.abort(this.#stopping.reason)
    const leave = () => controller.abort(clientLeft())
    if (response.closed || response.destroyed) {
      leave()
      return controller.signal
    }
    this.#controllers.add(controller)
    response.once('close', () => {
      this.#controllers.delete(controller)
      if (!response.writableFinished) leave()
    })
    return controller.signal
  }
}
