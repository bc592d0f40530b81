import * as z from 'zod/mini'
import { answer, request } from './shapes.ts'

const freeForm = () => z.record(z.string(), z.unknown())

/** GET /api/user/profile: the user to whom the credential belongs. */
export const profile = answer(() => ({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  created_at: z.string(),
  preferences: freeForm(),
}))
export type Profile = z.infer<typeof profile>

/** PUT /api/user/settings. */
export const userSettingsRequest = request(() => ({
  theme: z.string(),
  language: z.string(),
  notifications: freeForm(),
}))
export type UserSettingsRequest = z.infer<typeof userSettingsRequest>

export const userSettingsAnswer = answer(() => ({ success: z.boolean(), settings: freeForm() }))
export type UserSettingsAnswer = z.infer<typeof userSettingsAnswer>
