import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EffectiveApiConfiguration } from '../../domain/settings.ts'
import type { SettingsCache } from '../../domain/settings-cache.ts'

/** The headers that a page on another origin may send, and those of the response that it may read. */
const requestHeaders = 'authorization, content-type, x-request-id'
const exposedHeaders = 'location, ratelimit, ratelimit-policy, retry-after, x-request-id'

/** In seconds. An origin that is removed cannot read responses from then on, even if its preflight is still cached. */
const preflightMaxAge = 600

/** The paths with CORS: the interface, and the OAuth endpoints that scripts call. */
const corsPaths = /^\/(v1|api|oauth|\.well-known)(\/|\?|$)/

/**
 * Sets the CORS headers of the response (Fetch Standard, section 3.3), also for errors and streams, and
 * responds to preflights, which have no key and cost no quota.
 * @returns whether the request was a preflight and has its response
 */
export function applyCors(
  settingsCache: SettingsCache,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean | Promise<boolean> {
  if (!corsPaths.test(request.url)) return false
  reply.header('vary', 'Origin')
  const { origin } = request.headers
  // Most requests do not come from a page and must not wait here.
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

/** Empty for an origin or a method that is not allowed: the browser then hides the response from the page. */
export function corsHeaders(
  { allowed_origins, allowed_methods }: EffectiveApiConfiguration['cors'],
  origin: string,
  method: string,
  isPreflight: boolean,
): Record<string, string> {
  const allowOrigin = [origin, '*'].find((known) => allowed_origins.includes(known))
  // Browsers send method names in upper case; the configuration may use any case.
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
