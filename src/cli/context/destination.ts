import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import { type EndpointName, findEndpoint } from '../../contract/endpoints.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { decodedPart } from '../../contract/or-else.ts'

/** What the guards and the ledger know of a request before it is sent. */
export interface Destination {
  changesService: boolean
  /** What a plan can contain it in. */
  subject: 'settings' | 'users' | undefined
  /** Whether chatctl records it: anything but reading, and asking a model. */
  isRecorded: boolean
  /** The documented endpoint, if it is one. */
  endpoint: EndpointName | undefined
  /** Base URL of the service, without a part of the path of the interface. */
  service: string
  /** The path of the interface, with a query. */
  path: string
  /** ID of the user that the path names. */
  user: string | undefined
}

/** What a plan may change. A service may ignore case. */
const plannedPaths = /\/v1\/(settings|users)(?![\w-])(?:\/+([^/]+))?/i

/** A conversation may start anywhere; only settings and users are worth a guard. */
const chatPaths = /\/(v1|api)\/chat\//

/** Only the model's reply is new after such a request. */
const replyPaths = /\/(v1\/chat\/completions|api\/chat\/send)$/

/** Decides on the final URL: a base URL may have any path, also `/v1`. */
export function destinationOf({ method, path }: OutgoingRequest, baseUrl: string): Destination {
  const url = new URL(withoutTrailing(baseUrl, '/') + path)
  const plain = plainPath(url.pathname)
  const isSafe = method === 'GET' || method === 'HEAD'
  const [, planned] = plannedPaths.exec(plain) ?? []
  const isChat = planned === undefined && chatPaths.test(plain)
  const isReply = isChat && method === 'POST' && replyPaths.test(plain)
  const inUrl = findEndpoint(method, url.pathname)
  const endpoint = inUrl ?? findEndpoint(method, plain)
  const pathname = inUrl || !endpoint ? url.pathname : plain
  const prefix = withoutTrailing(new URL(baseUrl).pathname, '/')
  const found = plannedPaths.exec(pathname)
  // Without a documented endpoint, the base URL decides, unless it has a part of the path of the interface.
  const start = endpoint?.start ?? Math.min(found?.index ?? prefix.length, prefix.length)
  const id = endpoint ? endpoint.id : found?.[1]?.toLowerCase() === 'users' ? found[2] : undefined
  return {
    changesService: !isSafe && !isChat,
    subject: isSafe ? undefined : (planned?.toLowerCase() as Destination['subject']),
    isRecorded: !isSafe && method !== 'OPTIONS' && !isReply,
    endpoint: endpoint?.name,
    service: new URL(url.origin + withoutTrailing(pathname.slice(0, start), '/')).href,
    path: (endpoint ? withoutTrailing(pathname.slice(start), '/') : pathname.slice(start)) + url.search,
    user: id === undefined ? undefined : decodedPart(id),
  }
}

/** A path as a service reads it: without `..`, percent-encoding, and repeated slashes. */
function plainPath(path: string): string {
  // `?` and `#` remain encoded, because they would end the path.
  const decoded = path.replace(/%(?!3f|23)([2-7][\da-f])/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return new URL(`http://host${decoded}`).pathname.replace(/\/{2,}/g, '/')
}
