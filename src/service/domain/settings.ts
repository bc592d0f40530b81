import type { ApiConfiguration } from '../../contract/api-configuration.ts'
import type { Settings, SettingsPatch } from '../../contract/settings.ts'
import type { Database } from '../store/tables.ts'
import { merge } from './merge.ts'

/** What a fresh service has; a document in the store holds only what was ever set. */
const defaultSettings: Settings = {
  app_name: 'Chat',
  theme: { primary_color: '#3366FF', mode: 'system' },
  features: { chat: true, file_upload: false, code_completion: false },
  limits: { max_tokens: 4096, max_requests_per_min: 60_000 },
}

const defaultApiConfiguration: ApiConfiguration = {
  version: '1',
  rate_limiting: { enabled: false, requests_per_minute: 60_000 },
  cors: { allowed_origins: [], allowed_methods: ['GET', 'POST', 'PUT', 'PATCH'] },
}

export async function readSettings(db: Database): Promise<Settings> {
  return merge(defaultSettings, await readDocument(db, 'settings'))
}

/** Sets the keys that are named, at every depth. Answers with the whole resource. */
export async function updateSettings(db: Database, patch: SettingsPatch): Promise<Settings> {
  return merge(defaultSettings, await mergeDocument(db, 'settings', patch))
}

/** The same rule as for the settings. Nothing reads this yet: rate limits and CORS are not enforced. */
export async function setApiConfiguration(db: Database, given: ApiConfiguration): Promise<ApiConfiguration> {
  return merge(defaultApiConfiguration, await mergeDocument(db, 'api_configuration', given))
}

type DocumentTable = 'settings' | 'api_configuration'

async function readDocument(db: Database, table: DocumentTable): Promise<object> {
  const row = await selectDocument(db, table).executeTakeFirstOrThrow()
  return JSON.parse(row.document)
}

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
