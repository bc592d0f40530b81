import * as z from 'zod/mini'
import { type Maybe, type Received, request, response } from './shapes.ts'

const freeForm = () => z.record(z.string(), z.unknown())

/**
 * The user to whom the credential belongs (docs/interface.md, "Profile and user settings in the /api
 * family").
 */
export interface Profile extends Received {
  id?: Maybe<string>
  email?: Maybe<string>
  name?: Maybe<string>
  /** Timestamp, as the service wrote it. */
  created_at?: Maybe<string>
  preferences?: Maybe<Record<string, unknown>>
}

/** @internal */
export const profile = response<Profile>(() => ({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  created_at: z.string(),
  preferences: freeForm(),
}))

/** The user's own settings (docs/interface.md, "Profile and user settings in the /api family"). */
export interface UserSettingsRequest {
  theme?: string | undefined
  /** Language code. */
  language?: string | undefined
  notifications?: Record<string, unknown> | undefined
}

/** @internal */
export const userSettingsRequest = request<UserSettingsRequest>(() => ({
  theme: z.string(),
  language: z.string(),
  notifications: freeForm(),
}))

/** The response of PUT /api/user/settings. `success: false` is a failure instead. */
export interface UserSettingsResponse extends Received {
  success?: Maybe<boolean>
  settings?: Maybe<Record<string, unknown>>
}

/** @internal */
export const userSettingsResponse = response<UserSettingsResponse>(() => ({
  success: z.boolean(),
  settings: freeForm(),
}))
