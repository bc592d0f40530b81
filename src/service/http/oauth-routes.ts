import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OAuth } from '../oauth/open-oauth.ts'
import { toRefusal } from './answer/error-answer.ts'

/** What the sign-in answers by itself: without a key, and with pages rather than JSON. */
const routes = [
  ['GET', '/.well-known/oauth-authorization-server'],
  ['GET', '/oauth/authorize'],
  ['GET', '/oauth/authorize/:uid'],
  ['POST', '/oauth/token'],
  ['POST', '/oauth/revoke'],
  ['GET', '/sign-in'],
  ['GET', '/sign-in/:uid'],
  ['POST', '/sign-in/:uid'],
  ['GET', '/account'],
  ['POST', '/account'],
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
      if (raw.headersSent) request.log.error({ err: error }, toRefusal(error).message)
      throw error
    }
  }
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Bodies are read where they are looked into.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const [method, url] of routes) {
      scope.route({ method, url, config: { isOpen: true, endpoint: 'oauth' }, handler: answer })
    }
  })
}
