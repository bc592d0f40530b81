import type { FailedRequest } from '../contract/failure.ts'
import { credentialExpiryOf } from '../contract/headers.ts'
import type { Clock } from '../system/clock.ts'
import { readFault } from '../system/network/network-fault.ts'
import { type HttpRequest, Interrupted, type Transport } from '../system/network/transport.ts'
import { type AttemptResponse, attempt } from './attempt.ts'
import type { ClientEvent } from './client-event.ts'
import { describeInterruption, networkFailure } from './network/network-failure.ts'
import { followRedirect } from './network/redirect.ts'
import { type Redact, showUrl } from './redaction.ts'
import { limitHeaders } from './response/rate-limit-headers.ts'
import { requestIdOf } from './response/response.ts'
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
}

/** The final response, after redirects and retries. */
export interface FinalResponse extends AttemptResponse {
  /** The request of this response, without secrets. */
  request: FailedRequest
  /** Milliseconds that the service asked to wait, if that was too long. */
  asked?: number | undefined
}

/** An event without what is the same in all events of an attempt. */
type News<E = ClientEvent> = E extends ClientEvent ? Omit<E, 'method' | 'url' | 'attempt'> : never

/**
 * Sends a request, follows its redirects, and retries it if that is safe (see `judge`).
 *
 * @throws Failure of the network or a redirect; the reason of the signal
 */
export async function deliver(first: HttpRequest, delivery: Delivery): Promise<FinalResponse> {
  const { transport, policy, clock, signal, redact, observe } = delivery
  const trace = delivery.openTrace && (await delivery.openTrace())
  let redirects = 0
  let httpRequest = first
  let counts = untried

  for (let number = 1; ; number++) {
    const { method, url } = httpRequest
    const request: FailedRequest = { method, url: redact(showUrl(url)) }
    const report = (news: News) => observe?.({ ...news, ...request, attempt: number } as ClientEvent)
    report({ type: 'request' })
    trace?.request(httpRequest, number, redact)
    const started = clock.now()
    const decide = (outcome: Outcome): Verdict =>
      judge(outcome, method, counts, policy, clock.now(), clock.random())
    let verdict: Verdict
    let reason: string
    let status = 0
    try {
      const received = await attempt(transport, httpRequest, delivery, () => report({ type: 'sent' }))
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
