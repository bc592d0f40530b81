import type { EffectiveApiConfiguration } from '../../domain/settings.ts'
import type { SettingsCache } from '../../domain/settings-cache.ts'
import { isOpenAiPath } from '../../openai-endpoints.ts'
import type { ResponseHeaders, ServiceRequest, ServiceResponse } from '../service-request.ts'

/** The headers that a page on another origin may send, and those of the response that it may read. */
const requestHeaders = 'authorization, content-type, x-request-id'
const exposedHeaders =
  'location, ratelimit, ratelimit-policy, retry-after, x-credential-expires-at, x-request-id, x-settings-serial'

/** In seconds. An origin that is removed cannot read responses from then on, even if its preflight is still cached. */
const preflightMaxAge = 600

/** The paths with CORS: the interface, the endpoints for OpenAI clients, and the OAuth endpoints that scripts call. */
const corsPaths = /^\/(v1|api|openai|oauth|\.well-known)(\/|\?|$)/

/**
 * Sets the CORS headers of the response (Fetch Standard, section 3.3), also for errors and streams.
 * Preflights have no key and cost no quota.
 * @returns the response to a preflight. Undefined immediately, and not later, for a request that does not come
 * from a page, as most
 */
export function applyCors(
  settingsCache: SettingsCache,
  request: ServiceRequest,
  headers: ResponseHeaders,
): Promise<ServiceResponse | undefined> | undefined {
  if (!corsPaths.test(request.url)) return undefined
  headers['vary'] = 'Origin'
  const { origin } = request.headers
  return origin === undefined ? undefined : applyToOrigin(origin, settingsCache, request, headers)
}

async function applyToOrigin(
  origin: string,
  settingsCache: SettingsCache,
  request: ServiceRequest,
  headers: ResponseHeaders,
): Promise<ServiceResponse | undefined> {
  const asked = request.headers['access-control-request-method']
  const isPreflight = request.method === 'OPTIONS' && asked !== undefined
  const { cors } = (await settingsCache.read()).api
  const allowed = corsHeaders(cors, origin, isPreflight ? asked : request.method, isPreflight)
  // The SDKs of OpenAI send many others, such as x-stainless-lang.
  const wanted = isOpenAiPath(request.url) ? request.headers['access-control-request-headers'] : undefined
  if ('access-control-allow-headers' in allowed && wanted) allowed['access-control-allow-headers'] = wanted
  Object.assign(headers, allowed)
  return isPreflight ? { status: 204, headers, body: undefined } : undefined
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
