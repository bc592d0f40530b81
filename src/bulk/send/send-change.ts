import type { ApiResponse } from '../../client/response/response.ts'
import { Failure, reasonOf } from '../../contract/failure.ts'
import type { Throttle } from './throttle.ts'

/** A request that changes a user. */
export interface Change {
  /** Resolves when the intent is on disk. Absent if only the ledger has it. */
  recordIntent?(): Promise<void>
  /** Called if the request had no effect and is sent again later, or never. */
  retract(): void | Promise<void>
  request(): Promise<ApiResponse<unknown>>
  /** A service may quote it in an error. */
  password?: string
}

export interface Sending {
  throttle: Throttle
  health: ServiceHealth
}

/** `ended`: the run ended before a response arrived, so the outcome is unknown. */
export type Sent = { response: ApiResponse<unknown> } | { failure: Failure } | { ended: unknown }

/**
 * Sends a change after its intent is on disk.
 * @throws the error that should end the run, if no request was in flight: the intent could not be written, or the
 *   throttle ended a wait
 */
export async function sendChange({ throttle, health }: Sending, change: Change): Promise<Sent> {
  let isInFlight = false
  try {
    const response = await throttle.through(
      async () => {
        isInFlight = false
        await change.recordIntent?.()
        isInFlight = true
        return change.request()
      },
      () => {
        isInFlight = false
        return change.retract()
      },
    )
    health.succeeded()
    return { response }
  } catch (error) {
    if (!isInFlight) throw error
    return error instanceof Failure ? { failure: withoutPassword(error, change.password) } : { ended: error }
  }
}

/** Why a row failed. The message alone may not show whether the row or the service is at fault. */
export function rowError(failure: Failure): string {
  const { status, isOutcomeUnknown } = failure
  const words = isOutcomeUnknown ? reasonOf(failure) : failure.message
  return status === undefined ? words : `${status}: ${words}`
}

/** The error of a row whose request was in flight when the run ended, */
export const lostResponse = 'the run ended before a response arrived'

/** and of one whose outcome was unknown before. */
export const notSentAgain = 'not sent again yet; the outcome of the earlier request is unknown'

function withoutPassword(failure: Failure, password: string | undefined): Failure {
  if (password === undefined || password === '' || !failure.message.includes(password)) return failure
  const { kind, code, status, isOutcomeUnknown } = failure
  const words = 'The response is not shown because it contains the password'
  return new Failure(kind, words, { code, isOutcomeUnknown, status })
}

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
