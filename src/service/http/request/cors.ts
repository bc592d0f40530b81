import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EffectiveApiConfiguration } from '../../domain/settings.ts'
import type { SettingsCache } from '../../domain/settings-cache.ts'

/** What a page on another origin may send along, and see of an answer, besides what any page may. */
const requestHeaders = 'authorization, content-type, x-request-id'
const exposedHeaders = 'location, ratelimit, ratelimit-policy, retry-after, x-request-id'

/** How long, in s, a browser may go by a preflight; an origin that goes is refused its answers at once. */
const preflightMaxAge = 600

/** Where CORS applies: the interface, and the endpoints of OAuth that scripts call. */
const corsPaths = /^\/(v1|api|oauth|\.well-known)(\/|\?|$)/

/**
 * Puts the headers of the CORS protocol on the answer (Fetch Standard, section 3.3), errors and
 * streams included, and answers preflights: they carry no key and cost no quota.
 * @returns whether the request was a preflight, and is answered
 */
export function applyCors(
  settingsCache: SettingsCache,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean | Promise<boolean> {
  if (!corsPaths.test(request.url)) return false
  reply.header('vary', 'Origin')
  const { origin } = request.headers
  // Most requests come from no page, and wait for nothing here.
  return origin === undefined ? false : applyToOrigin(origin, settingsCache, request, reply)
}

async function applyToOrigin(
  origin: string,
  settingsCache: SettingsCache,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const asked = request.headers['access-control-request-method']
  const isPreflight = request.method === 'OPTIONS' && asked !== undefined
  const { cors } = (await settingsCache.read()).api
  reply.headers(corsHeaders(cors, origin, isPreflight ? asked : request.method, isPreflight))
  if (isPreflight) reply.code(204).send()
  return isPreflight
}

/** None for an origin or a method that is not allowed: the browser then keeps the answer to itself. */
export function corsHeaders(
  { allowed_origins, allowed_methods }: EffectiveApiConfiguration['cors'],
  origin: string,
  method: string,
  isPreflight: boolean,
): Record<string, string> {
  const allowOrigin = [origin, '*'].find((known) => allowed_origins.includes(known))
  // Browsers send the methods' names in capitals; people may configure them in any.
  const methods = allowed_methods.map((name) => name.toUpperCase())
  const isAllowed = [method, method === 'HEAD' ? 'GET' : method, '*'].some((name) => methods.includes(name))
  if (allowOrigin === undefined || !isAllowed) return {}
  if (!isPreflight) {
    return { 'access-control-allow-origin': allowOrigin, 'access-control-expose-headers': exposedHeaders }
  }
  return {
    'access-control-allow-origin': allowOrigin,
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': String(preflightMaxAge),
  }
}
