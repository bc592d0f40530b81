import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { paths } from '../oauth/metadata.ts'
import type { OAuth } from '../oauth/open-oauth.ts'
import { toApiError } from '../to-api-error.ts'

/** What the sign-in answers by itself: without a key, and with pages rather than JSON. */
const routes = [
  ['GET', paths.metadata],
  ['GET', paths.authorize],
  ['GET', `${paths.authorize}/:uid`],
  ['POST', paths.token],
  ['POST', paths.revoke],
  ['GET', paths.signIn],
  ['GET', `${paths.signIn}/:uid`],
  ['POST', `${paths.signIn}/:uid`],
  ['GET', paths.account],
  ['POST', paths.account],
] as const

/** Hands the requests of a sign-in to the OAuth server, which is loaded when the first one comes. */
export function serveOAuth(server: FastifyInstance, open: () => Promise<OAuth>): void {
  let opened: Promise<OAuth> | undefined
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // One that could not be opened, for want of a database perhaps, is tried again.
    opened ??= open().catch((error) => {
      opened = undefined
      throw error
    })
    const oauth = await opened
    const { raw } = reply
    // What was put on the answer so far, CORS among it; the OAuth server writes it by itself.
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
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Bodies are read where they are looked into.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const [method, url] of routes) {
      scope.route({ method, url, config: { isPublic: true, endpoint: 'oauth' }, handler: answer })
    }
  })
}
