import { readBaseUrl } from '../../contract/base-url.ts'
import { countOf } from '../../view/format/count.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, skipped, warning } from './finding.ts'

const day = 86_400_000

/** A certificate with less time than this, in ms, should have been renewed. */
const renewalTime = 14 * day

/** Name resolution, connection, TLS, and proxy. @throws Failure of the network */
export async function examineNetwork({ context, probeNetwork }: DoctorContext): Promise<Examined[]> {
  const target = context.target()
  if (target.kind === 'local') return [skipped('network', 'not needed by the embedded service')]
  const base = readBaseUrl(target.baseUrl)
  const { proxy, address, connectMs, tls } = await probeNetwork(base)
  const way = proxy === undefined ? `${base.host} is ${address}` : `through the proxy ${proxy}`
  const secured =
    tls === undefined
      ? ''
      : `, ${tls.protocol}, certificate valid until ${tls.validTo.toISOString().slice(0, 10)}`
  const words = `${way}, connected in ${Math.round(connectMs)} ms${secured}`
  const left = tls === undefined ? Number.POSITIVE_INFINITY : tls.validTo.getTime() - context.host.clock.now()
  if (left > renewalTime) return [ok('network', words)]
  const days = Math.max(0, Math.floor(left / day))
  return [
    warning(
      'network',
      `${words}: ${countOf(days, 'day')} left`,
      `The operator of ${base.host} must renew the certificate.`,
    ),
  ]
}

/** @throws Failure if no service is selected, or two contradict each other */
export function examineAddress({ context }: DoctorContext): Examined[] {
  const target = context.target()
  if (target.kind === 'remote') {
    return [ok('address', `${target.baseUrl}, from ${context.options.base_url.from}`)]
  }
  const why = target.named ? `${context.options.profile.from} selects it` : 'no profile or base URL is set'
  return [ok('address', `the embedded service: ${why}`)]
}
