import type { Advice } from './advice.ts'

/** Why something failed (docs/exit-codes.md). Only `cli/errors/exit-codes.ts` knows the exit code of a kind. */
export type FailureKind =
  | 'usage'
  | 'refused'
  | 'input_needed'
  | 'declined'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'rejected'
  | 'invalid_response'
  | 'unreachable'
  | 'timeout'
  | 'tls'
  | 'server_error'
  | 'truncated'
  | 'unknown_outcome'
  | 'rate_limited'
  | 'storage'
  | 'not_whole'
  | 'incomplete'
  | 'config'
  | 'program_not_executable'
  | 'program_not_found'

/** The request that failed. Its URL never contains a secret. */
export interface FailedRequest {
  method: string
  url: string
  /** The request ID of the service, if it sent one. */
  id?: string
}

/** A failure is the options of another one that is made from it. */
export interface FailureOptions {
  /** The next step, in one sentence. Only rooms of the program may name flags and commands in it. */
  hint?: string | undefined
  /** More hints, as codes with data. `cli/errors/hints.ts` has the text. */
  advice?: readonly Advice[] | undefined
  /** The machine-readable code of the service, if it sent one. */
  code?: string | undefined
  /** HTTP status of the response. */
  status?: number | undefined
  details?: unknown
  request?: FailedRequest | undefined
  /** Whether the outcome is unknown: the request may have taken effect. */
  isOutcomeUnknown?: boolean
  cause?: unknown
}

/** What to do after a failure. */
export type Help = Pick<FailureOptions, 'hint' | 'advice'>

/** An expected failure, with a message for people. Any other error is a bug. */
export class Failure extends Error {
  override name = 'Failure'

  /** The bundle of the embedded service has its own copy of this class. Instances of both count as failures. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'Failure' && 'kind' in value
  }

  readonly kind: FailureKind
  readonly hint: string | undefined
  readonly advice: readonly Advice[]
  readonly code: string
  readonly status: number | undefined
  readonly details: unknown
  readonly request: FailedRequest | undefined
  readonly isOutcomeUnknown: boolean

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.hint = options.hint
    this.advice = options.advice ?? []
    this.code = options.code ?? kind
    this.status = options.status
    this.details = options.details
    this.request = options.request
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false
  }

  /**
   * The same failure with another message. The original is its cause.
   * @param help hint and advice (default: unchanged)
   */
  reworded(message: string, { hint, advice }: Help = this): Failure {
    return new Failure(this.kind, message, { ...this, hint, advice, cause: this })
  }
}

/** A message as the end of a sentence: words with which messages of chatctl begin lose their capital. */
export function afterColon(message: string): string {
  return message.replace(/^(?:The|No|Cannot) /, (word) => word.toLowerCase())
}

const unknownWords = 'The outcome of the change is unknown: '

/** Why a request failed, for a message that itself states that the outcome is unknown. */
export function reasonOf({ message }: Failure): string {
  return afterColon(message.startsWith(unknownWords) ? message.slice(unknownWords.length) : message)
}

/**
 * The failure for a change that the service may have made although its request failed.
 * @param hint the command that shows whether it was made
 */
export function unknownOutcome(failure: Failure, hint?: string): Failure {
  const { kind, code } = failure
  return new Failure('unknown_outcome', unknownWords + reasonOf(failure), {
    ...failure,
    hint,
    advice: [],
    // The code of the service is more specific.
    code: code === kind ? 'unknown_outcome' : code,
    isOutcomeUnknown: true,
    cause: failure,
  })
}

/**
 * What a request has done. `done`: the service confirmed it. `refused`: it certainly had no effect, because the service
 * rejected it or was not reached. `contradicted`: the service confirmed it, and its response shows other values than
 * those that were sent. `unverified`: the service has accepted it, and may apply it later (status 202). `unknown`: it
 * may have taken effect.
 */
export const outcomes = ['done', 'refused', 'contradicted', 'unverified', 'unknown'] as const
export type Outcome = (typeof outcomes)[number]

/** What is known of a request after its last attempt. */
export interface RequestOutcome {
  outcome: Outcome
  /** The URL to which the request was last sent, without secrets. Undefined if it was never sent. */
  url?: string | undefined
  /** HTTP status of the last response, if there was one. */
  status?: number | undefined
  /** The service's own ID for the request, if it sent one. */
  requestId?: string | undefined
  /** ID of the user that the request created, if the response names it. */
  createdId?: string | undefined
  /** Why the request failed; `interrupted` if it was aborted; `skipped` if the user decided to do nothing about it. */
  error?: FailureKind | 'interrupted' | 'skipped'
}
