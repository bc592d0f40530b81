import * as z from 'zod/mini'
import { type Maybe, type Patch, type Received, request, response } from './shapes.ts'

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
 * A change to the settings (docs/interface.md, "Application settings"): any subset, nested
 * keys too. An omitted key keeps its value.
 */
export type SettingsPatch = Patch<ApplicationSettings>

/** @internal */
export const settingsPatch = request<SettingsPatch>(() => ({
  app_name: described(z.string(), 'Name of the application'),
  theme: request<Patch<Theme>>(theme),
  features: request<Patch<Features>>(features),
  limits: request<Patch<Limits>>(limits),
}))

/** The settings in a response (docs/interface.md, "Application settings"). */
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

/** The format of a color is checked in requests, not in responses. @internal */
export const settings = response<ApplicationSettings>(() => ({
  app_name: z.string(),
  theme: response<Theme>(() => ({ ...theme(), primary_color: z.string() })),
  features: response<Features>(features),
  limits: response<Limits>(limits),
}))

/** docs/interface.md, "User preferences" (GET /v1/settings/preferences). */
export interface Preferences extends Received {
  /** Language code. */
  language?: Maybe<string>
  timezone?: Maybe<string>
  /** The notifications that a user receives. */
  notifications?: Maybe<Received & { email?: Maybe<boolean>; push?: Maybe<boolean> }>
  /** The appearance of the application. The service defines the values. */
  display?: Maybe<Received & { theme?: Maybe<string>; font_size?: Maybe<string> }>
}

/** @internal */
export const preferences = response<Preferences>(() => ({
  language: z.string(),
  timezone: z.string(),
  notifications: response<NonNullable<Preferences['notifications']>>(() => ({
    email: z.boolean(),
    push: z.boolean(),
  })),
  display: response<NonNullable<Preferences['display']>>(() => ({
    theme: z.string(),
    font_size: z.string(),
  })),
}))

/** An HTTP method name: RFC 9110 section 9.1, a token (section 5.6.2). */
const method = () => z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be an HTTP method name'))

/** docs/interface.md, "API configuration" (POST /v1/settings/api). It can be set, never read. */
export interface ApiConfiguration {
  /** The service defines its meaning. */
  version?: string | undefined
  rate_limiting?: { enabled?: boolean | undefined; requests_per_minute?: number | undefined } | undefined
  cors?: Cors | undefined
}

export interface Cors {
  /** Origins, such as `https://app.example`. */
  allowed_origins?: string[] | undefined
  /** Names of HTTP methods. */
  allowed_methods?: string[] | undefined
}

/** The descriptions become the JSON Schema's. @internal */
export const apiConfiguration = request<ApiConfiguration>(() => ({
  version: described(z.string(), 'Version of the API configuration; the service defines its meaning'),
  rate_limiting: request<NonNullable<ApiConfiguration['rate_limiting']>>(() => ({
    enabled: described(z.boolean(), 'Whether the number of requests per minute is limited'),
    requests_per_minute: described(z.int(), 'Maximum number of requests per minute'),
  })),
  cors: request<Cors>(() => ({
    allowed_origins: described(z.array(z.string()), 'Origins that CORS allows'),
    allowed_methods: described(z.array(method()), 'HTTP methods that CORS lets through'),
  })),
}))
