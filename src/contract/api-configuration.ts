import * as z from 'zod/mini'
import { request } from './shapes.ts'

/** An HTTP method name: RFC 9110 section 9.1, a token (section 5.6.2). */
const method = () => z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be an HTTP method name'))

const described = <T extends z.ZodMiniType>(type: T, words: string): T => type.check(z.describe(words))

/** docs/interface.md, "API configuration" (POST /v1/settings/api). It can be set, never read. */
export interface ApiConfiguration {
  /** The service defines its meaning. */
  version?: string | undefined
  rate_limiting?: RateLimiting | undefined
  cors?: Cors | undefined
}

export interface RateLimiting {
  enabled?: boolean | undefined
  requests_per_minute?: number | undefined
}

export interface Cors {
  /** Origins, such as `https://app.example`. */
  allowed_origins?: string[] | undefined
  /** Names of HTTP methods. */
  allowed_methods?: string[] | undefined
}

/**
 * The descriptions become the JSON Schema's.
 *
 * @internal
 */
export const apiConfiguration = request<ApiConfiguration>(() => ({
  version: described(z.string(), 'Version of the configuration; the service defines its meaning'),
  rate_limiting: request<RateLimiting>(() => ({
    enabled: described(z.boolean(), 'Whether the number of requests per minute is limited'),
    requests_per_minute: described(z.int(), 'Maximum number of requests per minute'),
  })),
  cors: request<Cors>(() => ({
    allowed_origins: described(z.array(z.string()), 'Origins that CORS allows'),
    allowed_methods: described(z.array(method()), 'HTTP methods that CORS lets through'),
  })),
}))
