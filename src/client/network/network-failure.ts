import type { Advice } from '../../contract/advice.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { type FailedRequest, Failure } from '../../contract/failure.ts'
import { describeDuration } from '../../system/clock.ts'
import { describeFault, otherSchemeOf, readFault, trustHintOf } from '../../system/network/network-fault.ts'
import { Expired, type Interrupted } from '../../system/network/transport.ts'

/** Codes of a wrong address, or of a service that does not run. */
const addressCodes = new Set(['ENOTFOUND', 'ECONNREFUSED'])

/** One interruption in words: `connection refused`, `no response within 60 s`. */
export function describeInterruption({ cause }: Interrupted): string {
  if (cause instanceof Expired) return `no response within ${describeDuration(cause.ms)}`
  const { details, proxy } = readFault(cause)
  return proxy ? `the proxy ${proxy.address} (${proxy.variable}): ${details}` : details
}

/**
 * The failure for an interrupted request that is not sent again. `truncated` if the response had begun.
 */
export function networkFailure({ cause, stage }: Interrupted, request: FailedRequest): Failure {
  const { origin, host, hostname } = new URL(request.url)
  const unknownHint = unknownOutcomeHint(request, stage !== 'connect')
  const unknown = unknownHint === undefined ? {} : { hint: unknownHint, isOutcomeUnknown: true }
  if (cause instanceof Expired) {
    const advice = [longerTimeout(cause)]
    const words = `No response from ${origin} within ${describeDuration(cause.ms)}`
    return new Failure('timeout', words, { cause, request, ...unknown, advice })
  }
  const fault = readFault(cause)
  const { kind, code, proxy } = fault
  const scheme = otherSchemeOf(code)
  const advice: Advice[] = []
  if (proxy) advice.push({ code: 'bypass_proxy', variable: proxy.variable, host: hostname })
  else if (scheme) advice.push({ code: 'other_scheme', url: `${scheme}://${host}` })
  else if (stage === 'connect' && addressCodes.has(code)) advice.push({ code: 'check_address', origin })
  const options = { cause, request, hint: trustHintOf(code), ...unknown, advice }
  const words = describeFault(fault, stage, origin, true)
  return new Failure(stage === 'body' ? 'truncated' : kind, words, options)
}

/**
 * The hint for a request whose outcome is unknown. Undefined if the request changed nothing.
 *
 * @param arrived whether it may have reached the service
 */
export function unknownOutcomeHint(request: FailedRequest, arrived: boolean): string | undefined {
  if (!arrived || !mayChange(request)) return undefined
  return 'The request may have taken effect. Check before you send it again.'
}

/** Whether a request can change something. The service stores nothing of a completion. */
export function mayChange({ method, url }: FailedRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const { method: completes, path } = endpoints.createCompletion
  return method !== completes || !new URL(url).pathname.endsWith(path)
}

export const longerTimeout = ({ ms }: Expired): Advice => ({ code: 'longer_timeout', ms })
