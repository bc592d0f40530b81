import type { Failure } from '../../contract/failure.ts'

/** Failures in a row after which the service, rather than a row, is what is wrong. */
const most = { unknown: 10, forbidden: 20 }

/** Whether it is worth going on with the rows that are left. */
export class ServiceHealth {
  #hasTaken = false
  #unknown = 0
  #forbidden = 0

  took(): void {
    this.#hasTaken = true
    this.#unknown = 0
    this.#forbidden = 0
  }

  /** @throws Failure the same, where the run should stop */
  failed(failure: Failure): void {
    const { kind, isOutcomeUnknown } = failure
    this.#unknown =
      isOutcomeUnknown || kind === 'server_error' || kind === 'truncated' ? this.#unknown + 1 : 0
    this.#forbidden = kind === 'forbidden' ? this.#forbidden + 1 : 0
    if (
      affectsEveryRow(failure) ||
      this.#unknown >= most.unknown ||
      (this.#forbidden >= most.forbidden && !this.#hasTaken)
    ) {
      throw failure
    }
  }
}

/**
 * What every further row would meet too, and nothing was done: nobody was let in, nobody was there, or
 * there was no credential to send. The client has tried again as often as it was let.
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
