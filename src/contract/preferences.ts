import * as z from 'zod/mini'
import { answer } from './shapes.ts'

/** interface.md, "User preferences" (GET /v1/settings/preferences). */
export const preferences = answer(() => ({
  language: z.string(),
  timezone: z.string(),
  notifications: answer(() => ({ email: z.boolean(), push: z.boolean() })),
  display: answer(() => ({ theme: z.string(), font_size: z.string() })),
}))
export type Preferences = z.infer<typeof preferences>
