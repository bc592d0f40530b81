import * as z from 'zod/mini'
import { answer, request } from './shapes.ts'

const colour = () => z.string().check(z.regex(/^#[0-9a-fA-F]{6}$/, 'must have the form #RRGGBB'))

const described = <T extends z.ZodMiniType>(type: T, words: string): T => type.check(z.describe(words))

/**
 * interface.md, "Application settings". The descriptions become the JSON Schema's and the
 * comments of an exported file.
 */
const theme = () => ({
  primary_color: described(colour(), 'Main colour of the application, as #RRGGBB'),
  mode: described(z.string(), 'Colour mode; the service decides which names it knows'),
})
const features = () => ({
  chat: described(z.boolean(), 'Whether chat is offered'),
  file_upload: described(z.boolean(), 'Whether files may be uploaded'),
  code_completion: described(z.boolean(), 'Whether code completion is offered'),
})
const limits = () => ({
  max_tokens: described(z.int(), 'Most tokens that one completion may generate'),
  max_requests_per_min: described(z.int(), 'Most requests in one minute'),
})

/** PATCH /v1/settings: any subset, nested keys too. */
export const settingsPatch = request(() => ({
  app_name: described(z.string(), 'Name of the application'),
  theme: request(theme),
  features: request(features),
  limits: request(limits),
}))
export type SettingsPatch = z.infer<typeof settingsPatch>

/** GET /v1/settings. The colour's form is checked on what we send, not on what we are shown. */
export const settings = answer(() => ({
  app_name: z.string(),
  theme: answer(() => ({ ...theme(), primary_color: z.string() })),
  features: answer(features),
  limits: answer(limits),
}))
export type Settings = z.infer<typeof settings>
