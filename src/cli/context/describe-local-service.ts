import type { Failure } from '../../contract/failure.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { describeUpstream } from '../../contract/upstream-address.ts'
import type { LocalService } from './local-service.ts'

/** Which service answers, for `--debug`. */
export function describeLocalService({ url, running, upstream }: LocalService): string {
  const where = running ? `runs at ${url}, pid ${running.pid}` : 'runs in this process'
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
export function hintOfModelServer(
  { code, details }: Failure,
  { upstream, running, upstreamFrom }: Pick<LocalService, 'upstream' | 'running' | 'upstreamFrom'>,
): string | undefined {
  if (code === 'upstream_unreachable') {
    if (running) {
      return `Start the model server. The service that runs at ${running.url} (pid ${running.pid}) uses it.`
    }
    const isOfEnvironment = upstreamFrom?.source === 'environment'
    const without = isOfEnvironment
      ? 'unset CHATCTL_UPSTREAM'
      : 'stop using it with: chatctl config unset upstream'
    return `Start the model server, or ${without}`
  }
  const status = isRecord(details) ? String(details['upstream_status']) : undefined
  if (code !== 'upstream_error' || status === undefined) return undefined
  if (status === '404' && !/\/v1\/?$/.test(upstream ?? '')) {
    return 'Most model servers need /v1 at the end of the address.'
  }
  if (status === '401' || status === '403') return hintOfKey(running, upstreamFrom)
  return undefined
}

function hintOfKey(running: LocalService['running'], choice: LocalService['upstreamFrom']): string {
  if (running)
    return `Check the upstream key file of the service that runs at ${running.url} (pid ${running.pid}).`
  const file = choice?.server?.keyFile
  if (file !== undefined) return `Check the key of the model server in ${file}`
  return choice?.source === 'environment'
    ? 'Save the key of the model server in a file, and set CHATCTL_UPSTREAM_KEY_FILE to its path.'
    : 'Save the key of the model server in a file, and run: chatctl config set upstream_key_file=FILE'
}
