import * as z from 'zod/mini'
import { request } from './shapes.ts'

/** An HTTP method name: RFC 9110 section 9.1, a token (section 5.6.2). */
const method = () => z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be an HTTP method name'))

const described = <T extends z.ZodMiniType>(type: T, words: string): T => type.check(z.describe(words))

/**
 * interface.md, "API configuration" (POST /v1/settings/api). It can be set, never read. The
 * descriptions become the JSON Schema's.
 */
export const apiConfiguration = request(() => ({
  version: described(z.string(), 'Version of the configuration; what it means the service decides'),
  rate_limiting: request(() => ({
    enabled: described(z.boolean(), 'Whether requests are limited by the minute'),
    requests_per_minute: described(z.int(), 'Most requests in one minute'),
  })),
  cors: request(() => ({
    allowed_origins: described(z.array(z.string()), 'Origins that CORS lets in'),
    allowed_methods: described(z.array(method()), 'HTTP methods that CORS lets through'),
  })),
}))
export type ApiConfiguration = z.infer<typeof apiConfiguration>
