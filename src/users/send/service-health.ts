import type { Failure } from '../../contract/failure.ts'

/** Numbers of consecutive failures after which the cause is the service, not a row. */
const limits = { unknown: 10, forbidden: 20 }

/** Decides after each request whether the remaining rows are worth sending. */
export class ServiceHealth {
  #hasSucceeded = false
  #unknown = 0
  #forbidden = 0

  succeeded(): void {
    this.#hasSucceeded = true
    this.#unknown = 0
    this.#forbidden = 0
  }

  /** @throws Failure the same one, if the run should stop */
  failed(failure: Failure): void {
    const { kind, isOutcomeUnknown } = failure
    this.#unknown =
      isOutcomeUnknown || kind === 'server_error' || kind === 'truncated' ? this.#unknown + 1 : 0
    this.#forbidden = kind === 'forbidden' ? this.#forbidden + 1 : 0
    if (
      affectsEveryRow(failure) ||
      this.#unknown >= limits.unknown ||
      (this.#forbidden >= limits.forbidden && !this.#hasSucceeded)
    ) {
      throw failure
    }
  }
}

/**
 * Whether every further row would fail in the same way, and nothing was done: the credential was rejected or
 * is missing, or the service is unreachable. The client has already retried.
 */
export function affectsEveryRow({ kind, isOutcomeUnknown }: Failure): boolean {
  switch (kind) {
    case 'unauthorized':
    case 'rate_limited':
    case 'storage':
    case 'config':
    case 'input_needed':
      return true
    case 'unreachable':
    case 'timeout':
    case 'tls':
      return !isOutcomeUnknown
    default:
      return false
  }
}
