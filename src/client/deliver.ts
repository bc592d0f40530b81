import type { FailedRequest } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import { type AttemptResponse, attempt } from './attempt.ts'
import type { ClientEvent } from './client-event.ts'
import { describeInterruption, isHopeless, networkFailure } from './network-failure.ts'
import { type HttpRequest, Interrupted, type Transport } from './open-response.ts'
import { type Redact, showHeaders, showUrl } from './redaction.ts'
import { followRedirect } from './redirect.ts'
import { requestIdOf } from './response.ts'
import { judge, type Outcome, type RetryPolicy, untried, type Verdict } from './retry.ts'
import { wrongScheme } from './wrong-scheme.ts'

interface Delivery {
  transport: Transport
  /** Names the proxy, for errors. */
  env: NodeJS.ProcessEnv
  policy: RetryPolicy
  clock: Clock
  /** Milliseconds for one attempt. */
  timeout: number
  stream: boolean
  maxBodyMiB?: number | undefined
  followRedirects: boolean
  signal: AbortSignal | undefined
  redact: Redact
  observe: ((event: ClientEvent) => void) | undefined
  /** Whether a retry still goes to the same base URL. */
  isCurrent(): Promise<boolean>
}

/** The final response, after redirects and retries. */
export interface FinalResponse extends AttemptResponse {
  /** The request of this response, without secrets. */
  request: FailedRequest
  /** Milliseconds that the service asked to wait, if that was too long. */
  asked?: number
}

/**
 * Sends a request, follows its redirects, and retries it if that is safe (see `judge`).
 *
 * @returns undefined if a retry must go to another base URL
 * @throws Failure of the network or a redirect; the reason of the signal
 */
export async function deliver(first: HttpRequest, delivery: Delivery): Promise<FinalResponse | undefined> {
  const { transport, policy, clock, signal } = delivery
  const report = (event: ClientEvent) => delivery.observe?.(delivery.redact(event))
  const { authorization: _, ...headers } = first.headers
  const visited = [first.url.href]
  let httpRequest = first
  let counts = untried

  for (let number = 1; ; number++) {
    const about = {
      method: httpRequest.method,
      url: delivery.redact(showUrl(httpRequest.url)),
      attempt: number,
    }
    const request: FailedRequest = { method: about.method, url: about.url }
    report({ ...about, type: 'request', headers: showHeaders(headers) })
    const started = clock.now()
    const decide = (outcome: Outcome): Verdict =>
      judge(outcome, httpRequest.method, counts, policy, clock.now(), clock.random())
    let verdict: Verdict
    let reason: string
    let status = 0
    try {
      const response = await attempt(transport, httpRequest, {
        ...delivery,
        onSent: () => report({ ...about, type: 'sent' }),
      })
      status = response.status
      report(responseEvent(about, response, clock.now() - started))
      const next = delivery.followRedirects ? followRedirect(httpRequest, response, visited) : undefined
      if (next) {
        visited.push(next.url.href)
        httpRequest = next
        report({ ...about, type: 'redirect', status, to: showUrl(next.url) })
        continue
      }
      verdict = decide({ type: 'response', status, headers: response.headers })
      if (!verdict.again) {
        return { ...response, request, ...(verdict.asked === undefined ? {} : { asked: verdict.asked }) }
      }
      reason = `${status} ${response.statusText}`.trim()
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      verdict = decide({ type: 'interrupted', stage: error.stage, hopeless: isHopeless(error) })
      if (!verdict.again) {
        const { env } = delivery
        throw (await wrongScheme(error, request, env)) ?? networkFailure(error, request, env)
      }
      reason = describeInterruption(error)
    }
    counts = verdict.counts
    report(
      verdict.limited
        ? { ...about, type: 'wait', after: verdict.after, status }
        : { ...about, type: 'retry', after: verdict.after, reason },
    )
    await clock.sleep(verdict.after, signal)
    if (!(await delivery.isCurrent())) return undefined
  }
}

function responseEvent(
  about: { method: string; url: string; attempt: number },
  { status, statusText, headers }: AttemptResponse,
  elapsed: number,
): ClientEvent {
  const requestId = requestIdOf(headers)
  return {
    ...about,
    type: 'response',
    status,
    statusText,
    headers: showHeaders(headers),
    elapsed,
    ...(requestId === undefined ? {} : { requestId }),
  }
}
