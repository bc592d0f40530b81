import type { IncomingMessage } from 'node:http'

/**
 * The target of a request as path and query. One may also name scheme and host (RFC 9112 section
 * 3.2.2); routes would match that too, and whatever looks at the address itself would not.
 */
export function toOriginForm(request: IncomingMessage & { originalUrl?: string | undefined }): string {
  // Fastify keeps what was there before in it, and oidc-provider would take the difference for a prefix.
  request.originalUrl = undefined
  const { url = '' } = request
  const [authority = ''] = /^https?:\/\/[^/?#]*/i.exec(url) ?? []
  const rest = url.slice(authority.length)
  return authority !== '' && !rest.startsWith('/') ? `/${rest}` : rest
}
