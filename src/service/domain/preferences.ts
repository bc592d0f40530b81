import type { Preferences } from '../../contract/resources/settings.ts'
import type { UpdateUserRequest, User, UserSettingsRequest } from '../../contract/resources/user.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import type { Database } from '../store/tables.ts'
import { merge } from './settings.ts'

/**
 * One record for each user, which the interface shows in four places: GET /v1/settings/preferences,
 * `preferences` of one's own user, `settings` of a user, and PUT /api/user/settings.
 */
export interface PreferencesRecord {
  language: string
  timezone: string
  notifications: { email: boolean; push: boolean }
  display: { theme: string; font_size: string }
}

const defaults: PreferencesRecord = {
  language: 'en',
  timezone: 'UTC',
  notifications: { email: true, push: false },
  display: { theme: 'system', font_size: 'medium' },
}

export async function readPreferences(db: Database, userId: string): Promise<PreferencesRecord> {
  const [row] = await selectDocument(db, { userId })
  return preferencesOf(row?.document ?? '{}')
}

/** The preferences of a stored document, with the defaults. */
export const preferencesOf = (document: string): PreferencesRecord => merge(defaults, JSON.parse(document))

/** Reads the preferences and locks them until the transaction ends. */
export async function lockPreferences(transaction: Database, userId: string): Promise<PreferencesRecord> {
  const [row] = await lockDocument(transaction, { userId })
  return preferencesOf(row?.document ?? '{}')
}

const ofUser = (db: Database, { userId }: { userId: string }) =>
  db.selectFrom('preferences').select('document').where('user_id', '=', userId)
const selectDocument = prepareQuery(ofUser)
const lockDocument = prepareQuery((db, values: { userId: string }) => ofUser(db, values).forUpdate())

/** Sets the keys of `patch`. Must run inside the transaction of the whole change. */
export async function mergePreferences(
  db: Database,
  userId: string,
  patch: Preferences,
): Promise<PreferencesRecord> {
  const merged = merge(await lockPreferences(db, userId), patch)
  await db
    .updateTable('preferences')
    .set({ document: JSON.stringify(merged) })
    .where('user_id', '=', userId)
    .execute()
  return merged
}

/** PUT /api/user/settings: sets the given fields, and returns them with the names of that request. */
export async function updateOwnSettings(
  db: Database,
  userId: string,
  { theme, language, notifications }: UserSettingsRequest,
): Promise<{ success: true; settings: Record<string, unknown> }> {
  const stored = await db.transaction().execute((transaction) =>
    mergePreferences(transaction, userId, {
      ...(language !== undefined && { language }),
      ...(notifications && { notifications }),
      ...(theme !== undefined && { display: { theme } }),
    }),
  )
  const settings = {
    theme: stored.display.theme,
    language: stored.language,
    notifications: stored.notifications,
  }
  return { success: true, settings }
}

/** `settings` of a user: notifications are enabled if any channel is. */
export function userSettingsOf({ display, notifications }: PreferencesRecord): NonNullable<User['settings']> {
  return {
    theme: display.theme,
    notifications_enabled: Object.values(notifications).some((channel) => channel),
  }
}

/** Turning notifications off turns every channel off. Turning them on turns email on if no channel is on. */
export function preferencesFrom(
  { theme, notifications_enabled: enabled }: NonNullable<UpdateUserRequest['settings']>,
  stored: PreferencesRecord,
): Preferences {
  const { email, push } = stored.notifications
  const notifications =
    enabled === undefined
      ? {}
      : { notifications: enabled ? { email: email || !push, push } : { email: false, push: false } }
  return { ...(theme !== undefined && { display: { theme } }), ...notifications }
}
