import type { ApiConfiguration } from '../../contract/api-configuration.ts'
import type { Settings, SettingsPatch } from '../../contract/settings.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import type { Database } from '../store/tables.ts'
import { type AuditAction, noteChange, type Origin } from './audit.ts'
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
  const [row] = await selectSettings(db, {})
  return merge(defaultSettings, JSON.parse(row?.document ?? '{}'))
}

const selectSettings = prepareQuery((db) => selectDocument(db, 'settings'))

/** Sets the keys that are named, at every depth. Answers with the whole resource. */
export function updateSettings(db: Database, patch: SettingsPatch, by: Origin): Promise<Settings> {
  return mergeDocument(db, 'settings', { patch, defaults: defaultSettings, action: 'settings.update' }, by)
}

/** The same rule as for the settings. Nothing reads this yet: rate limits and CORS are not enforced. */
export function setApiConfiguration(
  db: Database,
  patch: ApiConfiguration,
  by: Origin,
): Promise<ApiConfiguration> {
  const change = { patch, defaults: defaultApiConfiguration, action: 'api.update' } as const
  return mergeDocument(db, 'api_configuration', change, by)
}

type DocumentTable = 'settings' | 'api_configuration'

const selectDocument = (db: Database, table: DocumentTable) =>
  db.selectFrom(table).select('document').where('id', '=', 1)

function mergeDocument<T extends object>(
  db: Database,
  table: DocumentTable,
  { patch, defaults, action }: { patch: object; defaults: T; action: AuditAction },
  by: Origin,
): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    const row = await selectDocument(transaction, table).forUpdate().executeTakeFirstOrThrow()
    const stored: object = JSON.parse(row.document)
    const merged = merge(stored, patch)
    await transaction
      .updateTable(table)
      .set({ document: JSON.stringify(merged), updated_at: new Date().toISOString() })
      .where('id', '=', 1)
      .execute()
    const [before, after] = [merge(defaults, stored), merge(defaults, merged)]
    await noteChange(transaction, by, { action, target: table, before, after })
    return after
  })
}
