import type { Source } from '../config/resolve-options.ts'
import { isRecord } from '../contract/exact-json.ts'
import type { Failure } from '../contract/failure.ts'
import { describeUpstream } from '../contract/upstream-address.ts'
import type { LocalService } from './local-service.ts'

/** Which service answers, for `--debug`. */
export function describeLocalService({ url, running, upstream }: LocalService): string {
  const where = running ? `runs at ${url}, pid ${running.pid}` : `runs in this process at ${url}`
  return `* The embedded service ${where}, with ${describeReplies(upstream)}`
}

/** What produces the replies of the embedded service. */
export function describeReplies(upstream: string | null): string {
  return upstream === null ? 'the built-in test program' : `the model server ${describeUpstream(upstream)}`
}

/** A message of the embedded service, which does not tell its clients the address of its model server. */
export function nameModelServer(message: string, upstream: string): string {
  return message.replace(/\bthe model server\b/i, (words) => `${words} ${describeUpstream(upstream)}`)
}

/** What to do about a failure of the model server; undefined if nothing is known. */
export function hintOfModelServer({ code, details }: Failure, service: LocalService): string | undefined {
  const { upstream, running, upstreamFrom } = service
  if (code === 'upstream_unreachable') {
    if (running) {
      return `Start the model server. The service that runs at ${running.url} (pid ${running.pid}) uses it.`
    }
    return hintOfUnreachable(upstreamFrom?.source)
  }
  const status = isRecord(details) ? String(details['upstream_status']) : undefined
  if (code === 'upstream_error' && status === '404' && !upstream?.endsWith('/v1')) {
    return 'Most model servers need /v1 at the end of the address.'
  }
  return undefined
}

/** @param source of the upstream of this process */
export function hintOfUnreachable(source: Source | undefined): string {
  const without =
    source === 'environment' ? 'unset CHATCTL_UPSTREAM' : 'stop using it with: chatctl config unset upstream'
  return `Start the model server, or ${without}`
}
