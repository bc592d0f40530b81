import * as z from 'zod/mini'
import { answer } from './shapes.ts'

/** interface.md, "Model". `created` is a Unix time in seconds. */
const model = answer(() => ({
  id: z.string(),
  created: z.int(),
  object: z.string(),
  owned_by: z.string(),
}))
export type Model = z.infer<typeof model>

/** The answer of GET /v1/chat/models. */
export const modelList = answer(() => ({ data: z.array(model) }))
export type ModelList = z.infer<typeof modelList>
