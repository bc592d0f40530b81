import { isRecord, parseJson, withDoubles } from '../../contract/notation/exact-json.ts'
import type { ApiConfiguration, SettingsPatch } from '../../contract/resources/settings.ts'
import { isoNow } from '../../system/clock.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import type { Database } from '../store/tables.ts'
import { type AuditAction, type AuditContext, recordChange } from './audit.ts'

/** Settings with a value for each key. */
export type EffectiveSettings = {
  app_name: string
  theme: { primary_color: string; mode: string }
  features: { chat: boolean; file_upload: boolean; code_completion: boolean }
  limits: { max_tokens: number; max_requests_per_min: number }
}

/** An API configuration with a value for each key. */
export type EffectiveApiConfiguration = {
  version: string
  rate_limiting: { enabled: boolean; requests_per_minute: number }
  cors: { allowed_origins: string[]; allowed_methods: string[] }
}

/** The defaults. The stored document contains only the keys that were set. */
const defaultSettings: EffectiveSettings = {
  app_name: 'Chat',
  theme: { primary_color: '#3366FF', mode: 'system' },
  features: { chat: true, file_upload: false, code_completion: false },
  limits: { max_tokens: 4096, max_requests_per_min: 60_000 },
}

const defaultApiConfiguration: EffectiveApiConfiguration = {
  version: '1',
  rate_limiting: { enabled: false, requests_per_minute: 60_000 },
  cors: { allowed_origins: [], allowed_methods: ['GET', 'POST', 'PUT', 'PATCH'] },
}

/**
 * Reads the settings from the database. `SettingsCache` may be a second behind a change that a client made
 * through another process and now reads back here.
 */
export async function readSettings(db: Database): Promise<{ settings: EffectiveSettings; serial: string }> {
  const [row] = await selectSettings(db, {})
  const { document = '{}', settings_at = '', api_at = '' } = row ?? {}
  // Each change moves one of the two times forward.
  const serial = [settings_at, api_at].map((time) => Date.parse(time ?? '')).join('-')
  return { settings: merge(defaultSettings, readStored(document)), serial }
}

const selectSettings = prepareQuery((db) =>
  selectDocument(db, 'settings')
    .select('updated_at as settings_at')
    .select((of) => of.selectFrom('api_configuration').select('updated_at').where('id', '=', 1).as('api_at')),
)

const readStored = (document: string) => parseJson(document) as object

/** The settings of a stored document, with limits as doubles for calculations. */
export const settingsOf = (document: string): EffectiveSettings =>
  merge(defaultSettings, withDoubles(readStored(document)) as object)

/** The API configuration of a stored document, with limits as doubles for calculations. */
export const apiConfigurationOf = (document: string): EffectiveApiConfiguration =>
  merge(defaultApiConfiguration, withDoubles(readStored(document)) as object)

/** Sets the keys of `patch` at every depth. Returns the whole resource. */
export function updateSettings(
  db: Database,
  patch: SettingsPatch,
  by: AuditContext,
): Promise<EffectiveSettings> {
  return mergeDocument(db, 'settings', { patch, defaults: defaultSettings, action: 'settings.update' }, by)
}

/** See `updateSettings`. */
export function setApiConfiguration(
  db: Database,
  patch: ApiConfiguration,
  by: AuditContext,
): Promise<EffectiveApiConfiguration> {
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
  by: AuditContext,
): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    const read = selectDocument(transaction, table).select('updated_at')
    const row = await read.forUpdate().executeTakeFirstOrThrow()
    const stored = readStored(row.document)
    const merged = merge(stored, patch)
    const time = Math.max(by.clock.now(), Date.parse(row.updated_at) + 1)
    await transaction
      .updateTable(table)
      .set({ document: JSON.stringify(merged), updated_at: isoNow({ now: () => time }) })
      .where('id', '=', 1)
      .execute()
    const [before, after] = [merge(defaults, stored), merge(defaults, merged)]
    await recordChange(transaction, by, { action, target: table, before, after })
    return after
  })
}

type JsonObject = Record<string, unknown>

/**
 * Merges `patch` into `base` at every depth. A key that `patch` does not have keeps its value; an array is
 * replaced as a whole.
 */
export function merge<T extends object>(base: T, patch: object): T {
  const merged = { ...base } as JsonObject
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const old = merged[key]
    merged[key] = isRecord(old) && isRecord(value) ? merge(old, value) : value
  }
  return merged as T
}
