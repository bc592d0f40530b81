import { contradictionsIn } from '../contract/contradictions.ts'
import { type EndpointName, findEndpoint } from '../contract/endpoints.ts'
import { type FailedRequest, Failure, type RequestOutcome, unknownOutcome } from '../contract/failure.ts'
import { credentialExpiryOf } from '../contract/headers.ts'
import { isRecord, parseJson, tryParse } from '../contract/notation/exact-json.ts'
import type { Clock } from '../system/clock.ts'
import { readFault } from '../system/network/network-fault.ts'
import { type HttpRequest, Interrupted, type Transport } from '../system/network/transport.ts'
import { type AttemptResponse, attempt } from './attempt.ts'
import type { ClientEvent } from './client-event.ts'
import { describeInterruption, networkFailure } from './network/network-failure.ts'
import { followRedirect } from './network/redirect.ts'
import { type Redact, showUrl } from './redaction.ts'
import { mayHaveDone, storedNothing } from './response/error-response.ts'
import { limitHeaders } from './response/rate-limit-headers.ts'
import { type ApiResponse, idOfCreated, requestIdOf } from './response/response.ts'
import { judge, type Outcome, type RetryPolicy, untried, type Verdict } from './retry.ts'
import type { Trace } from './trace.ts'

/** How the body of the response is read: see `attempt`. */
export interface Reading {
  stream: boolean
  wholeErrors: boolean
}

interface Delivery extends Reading {
  transport: Transport
  policy: RetryPolicy
  clock: Clock
  /** Milliseconds for one attempt. */
  timeout: number
  maxBodyMiB?: number | undefined
  followRedirects: boolean
  signal: AbortSignal | undefined
  redact: Redact
  observe: ((event: ClientEvent) => void) | undefined
  openTrace: (() => Promise<Trace>) | undefined
  effect: RequestEffect
}

/** The final response, after redirects and retries. */
export interface FinalResponse extends AttemptResponse {
  /** The request of this response, without secrets. */
  request: FailedRequest
  /** Milliseconds that the service asked to wait, if that was too long. */
  asked?: number | undefined
}

/**
 * What a request may have changed. Decides its outcome for the message, the exit code, and the ledger: what
 * one attempt leaves unknown stays unknown, unless the request succeeds later.
 */
export class RequestEffect {
  readonly #method: string
  readonly #endpoint: EndpointName | undefined
  readonly #body: unknown
  readonly #report: (outcome: RequestOutcome) => void
  /** Where the request was last sent. */
  url: string | undefined
  /** Whether the last attempt may have taken effect. Undefined if its status is 2xx: then its body tells. */
  last: boolean | undefined = false
  /** Whether an attempt before it may have. */
  #mayBeDone = false

  /** @param report called once, also if the request is aborted: a run that a signal ends knows what it has changed */
  constructor(
    { method, url, body }: { method: string; url: URL; body?: unknown },
    report: (outcome: RequestOutcome) => void = () => {},
  ) {
    this.#method = method
    this.#endpoint = findEndpoint(method, url.pathname)?.name
    this.#body = body
    this.#report = report
  }

  beginAttempt(): void {
    this.#mayBeDone ||= this.last === true
    this.last = false
  }

  succeeded({ status, headers }: FinalResponse, redact: Redact, read?: ApiResponse<unknown>): void {
    this.#report({
      outcome: status === 202 ? 'unverified' : this.#isContradicted(read?.body) ? 'contradicted' : 'done',
      url: this.url,
      status,
      requestId: redact(requestIdOf(headers)),
      createdId: read && this.#isOfCreated(read.body) ? redact(idOfCreated(read)) : undefined,
    })
  }

  /** Whether a response is about the user that the request creates: with another email, its ID is that of another. */
  #isOfCreated(body: unknown): boolean {
    const email = this.#sent?.['email']
    return this.#endpoint === 'createUser' && contradictionsIn({ email }, body).length === 0
  }

  /** @returns what to throw */
  failed(error: unknown): unknown {
    const failure = error instanceof Failure ? this.settle(error) : undefined
    this.#report({
      outcome: (failure?.isOutcomeUnknown ?? this.#isUnknown(true)) ? 'unknown' : 'refused',
      url: this.url,
      status: failure?.status,
      requestId: failure?.request?.id,
      error: error instanceof Failure ? error.kind : 'interrupted',
    })
    return failure ?? error
  }

  /** The failure of the last attempt as that of the request. */
  settle(failure: Failure): Failure {
    const { kind, message, details, cause, isOutcomeUnknown, advice = [] } = failure
    const isUnchanged = storedNothing(details)
    const isUnknown = this.#isUnknown(isOutcomeUnknown && !isUnchanged)
    const hint = isUnknown
      ? [unknownHint, failure.hint].filter(Boolean).join(' ')
      : (failure.hint ?? (isUnchanged && advice.length === 0 ? unchangedHint : undefined))
    if (!isUnknown && !isOutcomeUnknown && hint === failure.hint) return failure
    // These words say nothing of an outcome that is unknown.
    if (isUnknown && (this.last === false || kind === 'rejected')) return unknownOutcome(failure, hint)
    return new Failure(kind, message, { ...failure, cause, hint, isOutcomeUnknown: isUnknown })
  }

  /** @param ofBody what a response with the status 2xx leaves unknown */
  #isUnknown(ofBody: boolean): boolean {
    // The service stores nothing of a completion.
    if (/^(GET|HEAD)$/.test(this.#method) || this.#endpoint === 'createCompletion') return false
    return this.#mayBeDone || (this.last ?? ofBody)
  }

  #isContradicted(received: unknown): boolean {
    const expected = this.#endpoint && expectedBody[this.#endpoint]
    if (!expected || !isRecord(received)) return false
    return this.#sent !== undefined && contradictionsIn(expected(this.#sent), received).length > 0
  }

  get #sent(): Fields | undefined {
    const body = typeof this.#body === 'string' ? tryParse(this.#body, parseJson) : this.#body
    return isRecord(body) ? body : undefined
  }
}

type Fields = Record<string, unknown>

/** What the response to a change shows of the request body, if it shows anything. */
const expectedBody: Partial<Record<EndpointName, (sent: Fields) => Fields>> = {
  createUser: (sent) => ({ ...sent, password: undefined }),
  updateUser: (sent) => sent,
  assignPermissions: (sent) => sent,
  updateSettings: (sent) => sent,
  setApiConfiguration: (sent) => sent,
  updateUserSettings: (sent) => ({ settings: sent }),
}

const unknownHint = 'The request may have taken effect. Check before you send it again.'
const unchangedHint = 'The service has stored nothing. You can send the request again.'

export function isSuccess({ status }: Pick<AttemptResponse, 'status'>): boolean {
  return status >= 200 && status <= 299
}

/** An event without what is the same in all events of an attempt. */
type News<E = ClientEvent> = E extends ClientEvent ? Omit<E, 'method' | 'url' | 'attempt'> : never

/**
 * Sends a request, follows its redirects, and retries it if that is safe (see `judge`).
 * @throws Failure of the network or a redirect; the reason of the signal
 */
export async function deliver(first: HttpRequest, delivery: Delivery): Promise<FinalResponse> {
  const { transport, policy, clock, signal, redact, observe, effect } = delivery
  const trace = delivery.openTrace && (await delivery.openTrace())
  let redirects = 0
  let httpRequest = first
  let counts = untried

  for (let number = 1; ; number++) {
    const { method, url } = httpRequest
    const request: FailedRequest = { method, url: redact(showUrl(url)) }
    const report = (news: News) => observe?.({ ...news, ...request, attempt: number } as ClientEvent)
    report({ type: 'request' })
    effect.beginAttempt()
    trace?.request(httpRequest, number, redact)
    const started = clock.now()
    const decide = (outcome: Outcome): Verdict =>
      judge(outcome, method, counts, policy, clock.now(), clock.random())
    let verdict: Verdict
    let reason: string
    let status = 0
    try {
      const received = await attempt(transport, httpRequest, delivery, () => {
        effect.last = true
        effect.url = request.url
        report({ type: 'sent' })
      })
      effect.last = isSuccess(received) ? undefined : mayHaveDone(received)
      const elapsed = clock.now() - started
      const response = trace?.response(httpRequest, received, elapsed, redact) ?? received
      status = response.status
      if (observe) report(responseNews(response, elapsed, redact))
      const next = delivery.followRedirects ? followRedirect(httpRequest, response, redirects) : undefined
      if (next) {
        redirects++
        httpRequest = next
        report({ type: 'redirect', status, to: redact(showUrl(next.url)) })
        continue
      }
      verdict = decide({ type: 'response', status, headers: response.headers })
      if (!verdict.again) return { ...response, request, asked: verdict.asked }
      reason = redact(`${status} ${response.statusText}`.trim())
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      effect.last = error.stage !== 'connect'
      const { isHopeless: hopeless } = readFault(error.cause)
      verdict = decide({ type: 'interrupted', stage: error.stage, hopeless })
      if (!verdict.again) throw networkFailure(error, request)
      reason = redact(describeInterruption(error))
    }
    counts = verdict.counts
    const { after } = verdict
    trace?.retry(reason, after)
    report(verdict.limited ? { type: 'wait', after, status } : { type: 'retry', after, reason })
    await clock.sleep(after, signal)
  }
}

function responseNews(
  { status, statusText, headers }: AttemptResponse,
  elapsed: number,
  redact: Redact,
): News {
  return {
    type: 'response',
    status,
    statusText: redact(statusText),
    elapsed,
    limits: redact(limitHeaders(headers)),
    requestId: redact(requestIdOf(headers)),
    credentialExpiresAt: credentialExpiryOf(headers),
  }
}
