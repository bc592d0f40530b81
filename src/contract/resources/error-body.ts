import * as z from 'zod/mini'
import { response } from './shapes.ts'

/** docs/interface.md, "Errors". `code` values and the content of `details` are the service's own. */
export const errorBody = z.looseObject({
  error: response(() => ({ code: z.string(), message: z.string(), details: z.unknown() })),
})
export type ErrorBody = z.infer<typeof errorBody>
