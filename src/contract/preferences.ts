import * as z from 'zod/mini'
import { type Maybe, type Received, response } from './shapes.ts'

/** docs/interface.md, "User preferences" (GET /v1/settings/preferences). */
export interface Preferences extends Received {
  /** Language code. */
  language?: Maybe<string>
  timezone?: Maybe<string>
  notifications?: Maybe<NotificationPreferences>
  display?: Maybe<DisplayPreferences>
}

/** The notifications that a user receives. */
export interface NotificationPreferences extends Received {
  email?: Maybe<boolean>
  push?: Maybe<boolean>
}

/** The appearance of the application. The service defines the values. */
export interface DisplayPreferences extends Received {
  theme?: Maybe<string>
  font_size?: Maybe<string>
}

/** @internal */
export const preferences = response<Preferences>(() => ({
  language: z.string(),
  timezone: z.string(),
  notifications: response<NotificationPreferences>(() => ({ email: z.boolean(), push: z.boolean() })),
  display: response<DisplayPreferences>(() => ({ theme: z.string(), font_size: z.string() })),
}))
