import * as z from 'zod/mini'
import { request } from './shapes.ts'

/** An HTTP method name: RFC 9110 section 9.1, a token (section 5.6.2). */
const method = z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be an HTTP method name'))

/** interface.md, "API configuration" (POST /v1/settings/api). It can be set, never read. */
export const apiConfiguration = request({
  version: z.string(),
  rate_limiting: request({ enabled: z.boolean(), requests_per_minute: z.int() }),
  cors: request({ allowed_origins: z.array(z.string()), allowed_methods: z.array(method) }),
})
export type ApiConfiguration = z.infer<typeof apiConfiguration>
