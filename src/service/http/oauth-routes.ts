import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { paths } from '../oauth/metadata.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import { toApiError } from '../to-api-error.ts'

/** The routes of the OAuth server. They require no key, and most respond with pages instead of JSON. */
const routes = [
  ['GET', paths.metadata],
  ['GET', paths.authorize],
  ['GET', `${paths.authorize}/:uid`],
  ['POST', paths.token],
  ['POST', paths.revoke],
  ['POST', paths.deviceAuthorization],
  ['GET', paths.signIn],
  ['GET', `${paths.signIn}/:uid`],
  ['POST', `${paths.signIn}/:uid`],
  ['GET', paths.account],
  ['POST', paths.account],
  ['GET', paths.device],
  ['POST', paths.device],
] as const

/** Passes requests to the OAuth server, which is opened with the first one. */
export function serveOAuth(server: FastifyInstance, open: () => Promise<OAuth>): void {
  let opened: Promise<OAuth> | undefined
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // If it cannot be opened, as without a database, the next request tries again.
    opened ??= open().catch((error) => {
      opened = undefined
      throw error
    })
    const oauth = await opened
    const { raw } = reply
    // The OAuth server writes the response itself, so it needs the headers that were set so far, such as CORS.
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) raw.setHeader(name, value)
    try {
      await oauth(request.raw, raw, request.ip)
      reply.hijack()
    } catch (error) {
      if (raw.headersSent) request.log.error({ err: error }, toApiError(error).message)
      throw error
    }
  }
  for (const [method, url] of routes) {
    server.route({ method, url, config: { endpoint: 'oauth' }, handler: answer })
  }
}
