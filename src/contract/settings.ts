import * as z from 'zod/mini'
import { type Maybe, type Received, request, response } from './shapes.ts'

const color = () => z.string().check(z.regex(/^#[0-9a-fA-F]{6}$/, 'must have the form #RRGGBB'))

const described = <T extends z.ZodMiniType>(type: T, words: string): T => type.check(z.describe(words))

/** The descriptions become the JSON Schema's and the comments of an exported file. */
const theme = () => ({
  primary_color: described(color(), 'Main color of the application, as #RRGGBB'),
  mode: described(z.string(), 'Color mode; the service defines the names'),
})
const features = () => ({
  chat: described(z.boolean(), 'Whether chat is enabled'),
  file_upload: described(z.boolean(), 'Whether file upload is enabled'),
  code_completion: described(z.boolean(), 'Whether code completion is enabled'),
})
const limits = () => ({
  max_tokens: described(z.int(), 'Maximum number of tokens in a completion'),
  max_requests_per_min: described(z.int(), 'Maximum number of requests per minute'),
})

/**
 * A change to the application settings (docs/interface.md, "Application settings"): any subset, nested
 * keys too. An omitted key keeps its value.
 */
export interface SettingsPatch {
  app_name?: string | undefined
  theme?: ThemePatch | undefined
  features?: FeaturesPatch | undefined
  limits?: LimitsPatch | undefined
}

export interface ThemePatch {
  /** As `#RRGGBB`. */
  primary_color?: string | undefined
  /** The service defines the names. */
  mode?: string | undefined
}

export interface FeaturesPatch {
  chat?: boolean | undefined
  file_upload?: boolean | undefined
  code_completion?: boolean | undefined
}

export interface LimitsPatch {
  /** Maximum number of tokens that one completion may generate. */
  max_tokens?: number | undefined
  max_requests_per_min?: number | undefined
}

/** @internal */
export const settingsPatch = request<SettingsPatch>(() => ({
  app_name: described(z.string(), 'Name of the application'),
  theme: request<ThemePatch>(theme),
  features: request<FeaturesPatch>(features),
  limits: request<LimitsPatch>(limits),
}))

/** The application settings in a response (docs/interface.md, "Application settings"). */
export interface ApplicationSettings extends Received {
  app_name?: Maybe<string>
  theme?: Maybe<Theme>
  features?: Maybe<Features>
  limits?: Maybe<Limits>
}

export interface Theme extends Received {
  /** Documented as `#RRGGBB`. */
  primary_color?: Maybe<string>
  mode?: Maybe<string>
}

export interface Features extends Received {
  chat?: Maybe<boolean>
  file_upload?: Maybe<boolean>
  code_completion?: Maybe<boolean>
}

export interface Limits extends Received {
  /** Maximum number of tokens that one completion may generate. */
  max_tokens?: Maybe<number>
  max_requests_per_min?: Maybe<number>
}

/**
 * The format of a color is checked in requests, not in responses.
 *
 * @internal
 */
export const settings = response<ApplicationSettings>(() => ({
  app_name: z.string(),
  theme: response<Theme>(() => ({ ...theme(), primary_color: z.string() })),
  features: response<Features>(features),
  limits: response<Limits>(limits),
}))
