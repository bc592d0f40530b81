import type { RequestHandler } from '../../client/network/process-transport.ts'
import type { Source } from '../../config/resolve-options.ts'
import type { UpstreamChoice } from '../../config/resolve-upstream.ts'
import type { Failure } from '../../contract/failure.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { describeUpstream } from '../../contract/upstream-address.ts'
import type { JoinableService } from '../../service/find-joinable-service.ts'
import { commandLine } from '../command-line.ts'

/** The embedded service that answers the requests of a run. */
export interface LocalService {
  url: string
  key: string
  /** The base URL of its model server; null for the built-in test program. */
  upstream: string | null
  /** The process that runs it; undefined for this one. */
  running: JoinableService | undefined
  /** Answers the requests in this process; undefined if another process runs the service. */
  handle: RequestHandler | undefined
  /** Where this process has the upstream from. */
  upstreamFrom: UpstreamChoice | undefined
}

/** The service that a run sends requests to, as errors and hints name it. */
export interface Connection {
  /** Undefined for the embedded service. */
  baseUrl: string | undefined
  /** Where the base URL comes from; `login` while its profile is being signed in. */
  baseUrlFrom: Source | 'login'
  profile: string | undefined
  /** The embedded service, once it has been asked. */
  localService?: LocalService
  /** What to do if the service rejects the credential. */
  refusalHint?: string | undefined
  /** Whether `doctor` examines it, so that no hint suggests `doctor`. */
  isExamined?: boolean
}

/** A command line for the service of a connection, to be pasted into a shell. */
export function commandForConnection(
  { baseUrl, baseUrlFrom, profile }: Connection,
  ...words: readonly string[]
): string {
  const isProfiles = baseUrlFrom === 'profile' || baseUrlFrom === 'default'
  const named =
    profile !== undefined
      ? ['--profile', profile, ...(isProfiles || baseUrl === undefined ? [] : ['--base-url', baseUrl])]
      : baseUrl === undefined
        ? []
        : ['--base-url', baseUrl]
  return commandLine(...words, ...named)
}

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
