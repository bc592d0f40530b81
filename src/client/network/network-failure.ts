import type { Advice } from '../../contract/advice.ts'
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

/** The failure for an interrupted request that is not sent again. `truncated` if the response had begun. */
export function networkFailure({ cause, stage }: Interrupted, request: FailedRequest): Failure {
  const { origin, host, hostname } = new URL(request.url)
  if (cause instanceof Expired) {
    const advice = [longerTimeout(cause)]
    const words = `No response from ${origin} within ${describeDuration(cause.ms)}`
    return new Failure('timeout', words, { cause, request, advice })
  }
  const fault = readFault(cause)
  const { kind, code, proxy } = fault
  const scheme = otherSchemeOf(code)
  const advice: Advice[] = []
  if (proxy) advice.push({ code: 'bypass_proxy', variable: proxy.variable, host: hostname })
  else if (scheme) advice.push({ code: 'other_scheme', url: `${scheme}://${host}` })
  else if (stage === 'connect' && addressCodes.has(code)) advice.push({ code: 'check_address', origin })
  const options = { cause, request, hint: trustHintOf(code), advice }
  const words = describeFault(fault, stage, origin, true)
  return new Failure(stage === 'body' ? 'truncated' : kind, words, options)
}

export const longerTimeout = ({ ms }: Expired): Advice => ({ code: 'longer_timeout', ms })
