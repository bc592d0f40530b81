import type { ApiConfiguration } from '../../contract/api-configuration.ts'
import type { SettingsPatch } from '../../contract/settings.ts'
import type { Database } from '../store/tables.ts'
import { merge } from './merge.ts'

/** Settings in which everything has a value. */
export type SettingsInForce = {
  app_name: string
  theme: { primary_color: string; mode: string }
  features: { chat: boolean; file_upload: boolean; code_completion: boolean }
  limits: { max_tokens: number; max_requests_per_min: number }
}

/** An API configuration in which everything has a value. */
export type ApiConfigurationInForce = {
  version: string
  rate_limiting: { enabled: boolean; requests_per_minute: number }
  cors: { allowed_origins: string[]; allowed_methods: string[] }
}

/** What a fresh service has; a document in the store holds only what was ever set. */
const defaultSettings: SettingsInForce = {
  app_name: 'Chat',
  theme: { primary_color: '#3366FF', mode: 'system' },
  features: { chat: true, file_upload: false, code_completion: false },
  limits: { max_tokens: 4096, max_requests_per_min: 60_000 },
}

const defaultApiConfiguration: ApiConfigurationInForce = {
  version: '1',
  rate_limiting: { enabled: false, requests_per_minute: 60_000 },
  cors: { allowed_origins: [], allowed_methods: ['GET', 'POST', 'PUT', 'PATCH'] },
}

/**
 * Settings as they are stored at this moment. LiveSettings may be a second behind another process,
 * and whoever reads back what they wrote may have been answered by that one.
 */
export async function readSettings(db: Database): Promise<SettingsInForce> {
  const { document } = await selectDocument(db, 'settings').executeTakeFirstOrThrow()
  return settingsOf(document)
}

/** Settings as a document in the store makes them. */
export const settingsOf = (document: string): SettingsInForce => merge(defaultSettings, JSON.parse(document))

/** API configuration as a document in the store makes it. */
export const apiConfigurationOf = (document: string): ApiConfigurationInForce =>
  merge(defaultApiConfiguration, JSON.parse(document))

/** Sets the keys that are named, at every depth. Answers with the whole resource. */
export async function updateSettings(db: Database, patch: SettingsPatch): Promise<SettingsInForce> {
  return merge(defaultSettings, await mergeDocument(db, 'settings', patch))
}

/** The same rule as for the settings. */
export async function setApiConfiguration(
  db: Database,
  given: ApiConfiguration,
): Promise<ApiConfigurationInForce> {
  return merge(defaultApiConfiguration, await mergeDocument(db, 'api_configuration', given))
}

type DocumentTable = 'settings' | 'api_configuration'

const selectDocument = (db: Database, table: DocumentTable) =>
  db.selectFrom(table).select('document').where('id', '=', 1)

function mergeDocument(db: Database, table: DocumentTable, patch: object): Promise<object> {
  return db.transaction().execute(async (transaction) => {
    const stored = await selectDocument(transaction, table).forUpdate().executeTakeFirstOrThrow()
    const merged = merge(JSON.parse(stored.document), patch)
    await transaction
      .updateTable(table)
      .set({ document: JSON.stringify(merged), updated_at: new Date().toISOString() })
      .where('id', '=', 1)
      .execute()
    return merged
  })
}
