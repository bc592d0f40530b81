import type { Advice } from './advice.ts'

/** Why something failed (docs/exit-codes.md). Only `cli/exit-codes.ts` knows the exit code of a kind. */
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
  | 'incomplete'
  | 'config'

/** The request that failed: its URL never holds a secret. */
export interface FailedRequest {
  method: string
  url: string
  /** The service's own id for it, where one was sent. */
  id?: string
}

export interface FailureOptions {
  /** The next step, in one sentence. Only the command line may name flags and commands in it. */
  hint?: string | undefined
  /** What else may help: codes with data, which only the command line puts into words. */
  advice?: readonly Advice[] | undefined
  /** The service's own machine-readable code, where it sent one. */
  code?: string
  /** HTTP status of the response. */
  status?: number
  details?: unknown
  request?: FailedRequest
  /** Whether the outcome is unknown: the request may have taken effect. */
  inDoubt?: boolean
  cause?: unknown
}

/** What to do after a failure. */
export type Help = Pick<FailureOptions, 'hint' | 'advice'>

/** An expected failure: what happened in `message`, for a person. Anything else thrown is a bug. */
export class Failure extends Error {
  override name = 'Failure'

  /** The embedded service is a bundle of its own with its own copy of this class: both are one kind. */
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
  readonly inDoubt: boolean

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.hint = options.hint
    this.advice = options.advice ?? []
    this.code = options.code ?? kind
    this.status = options.status
    this.details = options.details
    this.request = options.request
    this.inDoubt = options.inDoubt ?? false
  }

  /**
   * The same failure in other words; what it was is its cause.
   *
   * @param help the hint and the advice, where not the same
   */
  reworded(message: string, help: Help = helpOf(this)): Failure {
    const { kind, code, status, details, request, inDoubt } = this
    return new Failure(kind, message, {
      code,
      details,
      inDoubt,
      cause: this,
      ...help,
      ...(status === undefined ? {} : { status }),
      ...(request === undefined ? {} : { request }),
    })
  }
}

/** What a failure says to do, for another one made of it. */
export function helpOf({ hint, advice }: Failure): Required<Help> & { advice: readonly Advice[] } {
  return { hint, advice }
}

/** A message of our own as the second half of a sentence; the words of a service stay as they are. */
export function afterColon(message: string): string {
  return message.replace(/^(?:The|No|Cannot) /, (word) => word.toLowerCase())
}

/**
 * What the failure of a request means for a change that the service may have made all the same.
 *
 * @param hint the command that shows whether it was made
 */
export function unknownOutcome(failure: Failure, hint: string): Failure {
  const { kind, code, status, details, request } = failure
  return new Failure(
    'unknown_outcome',
    `The outcome of the change is unknown: ${afterColon(failure.message)}`,
    {
      hint,
      details,
      // The service's own code says more than ours.
      code: code === kind ? 'unknown_outcome' : code,
      inDoubt: true,
      cause: failure,
      ...(status === undefined ? {} : { status }),
      ...(request === undefined ? {} : { request }),
    },
  )
}
