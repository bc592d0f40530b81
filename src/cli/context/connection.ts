import type { ModelServerChoice } from '../../config/resolve-model-server.ts'
import type { Source } from '../../config/resolve-options.ts'
import type { Failure } from '../../contract/failure.ts'
import { describeModelServer } from '../../contract/model-server-address.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { otherSchemeOf, trustHintOf } from '../../system/network/network-fault.ts'
import type { RequestHandler } from '../../system/network/transport.ts'
import { assignment, commandLine } from '../command-line.ts'

/** The embedded service in this process, which answers the requests of a run and does not listen. */
export interface LocalService {
  key: string
  handle: RequestHandler
  /** The base URL of its model server; null for the built-in test program. */
  modelServer: string | null
  modelServerFrom: ModelServerChoice
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

/** What produces the replies of the embedded service. */
export function describeReplies(modelServer: string | null): string {
  return modelServer === null
    ? 'the built-in test program'
    : `the model server ${describeModelServer(modelServer)}`
}

/** A message of the embedded service, which does not tell its clients the address of its model server. */
export function nameModelServer(message: string, modelServer: string): string {
  return message.replace(/\bthe model server\b/i, (words) => `${words} ${describeModelServer(modelServer)}`)
}

/** What to do about a failure of the model server; undefined if nothing is known. */
export function hintOfModelServer(
  { code, details }: Failure,
  { modelServer, modelServerFrom }: Pick<LocalService, 'modelServer' | 'modelServerFrom'>,
): string | undefined {
  const { model_server_cause: cause = '', model_server_proxy: proxy } = Object(details)
  if (proxy && modelServer)
    return `Check ${proxy}, or bypass the proxy with: ${assignment('NO_PROXY', new URL(modelServer).hostname)}`
  if (code === 'model_server_unreachable') {
    const scheme = otherSchemeOf(cause)
    if (scheme) return `The address of the model server must begin with ${scheme}://, or have another port.`
    const without =
      modelServerFrom.source === 'environment'
        ? 'unset CHATCTL_MODEL_SERVER'
        : 'stop using it with: chatctl config unset model_server'
    return trustHintOf(cause) ?? `Start the model server, or ${without}`
  }
  const status = isRecord(details) ? String(details['model_server_status']) : undefined
  if (code !== 'model_server_error' || status === undefined) return undefined
  if (status === '404' && !/\/v1\/?$/.test(modelServer ?? '')) {
    return 'Most model servers need /v1 at the end of the address.'
  }
  if (status === '401' || status === '403') return hintOfKey(modelServerFrom)
  return undefined
}

function hintOfKey(choice: ModelServerChoice): string {
  const file = choice.server?.keyFile
  if (file !== undefined) return `Check the key of the model server in ${file}`
  return choice.source === 'environment'
    ? 'Save the key of the model server in a file, and set CHATCTL_MODEL_SERVER_KEY_FILE to its path.'
    : 'Save the key of the model server in a file, and run: chatctl config set model_server_key_file=FILE'
}
