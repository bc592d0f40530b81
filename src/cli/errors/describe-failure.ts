import type { Failure } from '../../contract/failure.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { commandLine } from '../command-line.ts'
import {
  type Connection,
  commandForConnection,
  hintOfModelServer,
  nameModelServer,
} from '../context/connection.ts'
import { hintOf } from './hints.ts'

/**
 * What a person is told of a failure, the same in text and JSON. Adds to its words what they lack: the HTTP status, the
 * request, and the profile, as in `No such user (404, GET https://chat.example/v1/users/u1, profile "work")`.
 */
export function describeFailure(failure: Failure, connection?: Connection) {
  const prefix = surplusPrefix(failure, connection)
  const words = prefix === undefined ? failure.message : sayPrefix(failure.message, prefix)
  const message = withPlace(words, failure, connection)
  if (prefix !== undefined && connection) return { message, hint: correctionOf(prefix, connection) }
  const service = connection?.localService
  if (service?.modelServer && failure.code.startsWith('model_server_')) {
    const hint = hintOfModelServer(failure, service) ?? hintOf(failure, connection)
    return { message: nameModelServer(message, service.modelServer), hint }
  }
  return { message, hint: hintOf(failure, connection) ?? hintOfStatus(failure, connection) }
}

function withPlace(message: string, { status, request }: Failure, connection?: Connection): string {
  if (request === undefined && status === undefined) return message
  const parts: string[] = []
  if (status !== undefined && !new RegExp(`\\b${status}\\b`).test(message)) parts.push(String(status))
  const url = request && new URL(request.url)
  // The service in this process has no address.
  if (url && connection?.localService && message.includes(url.origin)) {
    return message.replace(url.origin, 'the embedded service')
  }
  const isEmbedded = connection !== undefined && connection.baseUrl === undefined
  if (request && url && !message.includes(url.origin)) {
    parts.push(`${request.method} ${isEmbedded ? '' : url.origin}${url.pathname}`)
  }
  if (isEmbedded) parts.push('embedded service')
  else if (connection?.profile !== undefined) parts.push(`profile "${connection.profile}"`)
  return parts.length === 0 ? message : `${message.replace(/\.$/, '')} (${parts.join(', ')})`
}

/** The first segment of every path of the interface, which a base URL must not repeat. */
const surplus = /\/(v1|api)\/?$/

/**
 * `/v1` if the base URL ends in it and the service does not know the path, or answers with a web page.
 * A service may have `/api` as its prefix, so one that does not know a user is not misread.
 */
function surplusPrefix(failure: Failure, connection: Connection | undefined): string | undefined {
  const { status, request, advice, kind } = failure
  const base = connection?.baseUrl
  const [, prefix] = base === undefined ? [] : (surplus.exec(base.trim()) ?? [])
  if (base === undefined || prefix === undefined || request === undefined) return undefined
  if (new URL(base).origin !== new URL(request.url).origin) return undefined
  const isPage = advice.some(({ code }) => code === 'web_page')
  const isUnknownPath = status === 404 && (prefix === 'v1' || !/\/users\/[^/]+/.test(request.url))
  return isPage || isUnknownPath || kind === 'invalid_response' ? `/${prefix}` : undefined
}

function sayPrefix(message: string, prefix: string): string {
  return `${message.replace(/\.$/, '')}. The base URL probably must not end in ${prefix}, because chatctl adds the path`
}

function correctionOf(prefix: string, { baseUrl = '', baseUrlFrom, profile }: Connection): string {
  const corrected = withoutTrailing(baseUrl.trim(), '/').slice(0, -prefix.length)
  if (baseUrlFrom !== 'profile' || profile === undefined) return `Use this base URL: ${corrected}`
  return `Correct the base URL with: ${commandLine('config', 'set', 'base_url', corrected, '--profile', profile)}`
}

function hintOfStatus({ code, status }: Failure, connection: Connection | undefined): string | undefined {
  if (code === 'model_not_found' && connection) {
    return `List the models with: ${commandForConnection(connection, 'chat', 'models')}`
  }
  if (status === 401) return connection?.refusalHint
  if (status === 403 && connection?.baseUrl !== undefined) {
    return `Check who is signed in with: ${commandForConnection(connection, 'auth', 'status')}`
  }
  return undefined
}
