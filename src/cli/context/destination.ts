import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'

/** What the guards and the activity record know of a request before it is sent. */
export interface Destination {
  changesService: boolean
  /** What a plan can contain it in. */
  subject: 'settings' | 'users' | undefined
  /** Whether chatctl records it: anything but reading, and asking a model. */
  isRecorded: boolean
  /** The service and the path of the interface, if the base URL has a part of that path. */
  recordedAs: { service: string; path: string } | undefined
}

/** What a plan may change. A service may ignore case. */
const plannedPaths = /\/v1\/(settings|users)(?![\w-])/i

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
  const prefix = withoutTrailing(new URL(baseUrl).pathname, '/')
  const start = url.pathname.search(plannedPaths)
  const isInPrefix = start >= 0 && start < prefix.length
  return {
    changesService: !isSafe && !isChat,
    subject: isSafe ? undefined : (planned?.toLowerCase() as Destination['subject']),
    isRecorded: !isSafe && method !== 'OPTIONS' && !isReply,
    recordedAs: isInPrefix
      ? {
          service: new URL(url.origin + url.pathname.slice(0, start)).href,
          path: url.pathname.slice(start) + url.search,
        }
      : undefined,
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
