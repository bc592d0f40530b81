import type { DatabaseSync } from 'node:sqlite'
import {
  foreignDatabase,
  type Migrated,
  type Migration,
  type MigrationRule,
  migrationSql,
  migrations,
  refuseNewerSchema,
  type SqlWords,
} from '../migrations.ts'

/** "chat" in ASCII, in the header of the file: identifies databases of chatctl. */
const applicationId = 0x63_68_61_74

const words: SqlWords = {
  integer: 'integer',
  sequence: 'integer primary key autoincrement',
  isJson: (column) => `json_valid(${column})`,
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  strict: ' strict',
}

/**
 * Migrates the database to the newest schema in one transaction. Several processes may call it concurrently on one
 * file.
 * @returns undefined if this call did nothing
 * @throws Failure `storage` for a file of another program or of a newer chatctl; nothing is written then
 */
export function migrateSqlite(
  database: DatabaseSync,
  file: string,
  wanted: readonly Migration[] = migrations,
  rule?: MigrationRule,
): Migrated | undefined {
  if (schemaVersion(database, file, wanted) === wanted.length) return undefined
  const measure = database.prepare(
    'select page_count * page_size as n from pragma_page_count, pragma_page_size',
  )
  const size = () => Number(measure.get()?.['n'])
  database.exec('begin immediate')
  try {
    // Another process may have come first while this one waited for the lock.
    const from = schemaVersion(database, file, wanted)
    const bytes_before = size()
    if (from === 0) database.exec(`pragma application_id = ${applicationId}`)
    database.exec(migrationSql(from, wanted, words))
    const bytes_after = size()
    database.exec(rule === 'rehearsal' ? 'rollback' : 'commit')
    return from === wanted.length ? undefined : { from, to: wanted.length, bytes_before, bytes_after }
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** The number of the newest migration that ran; 0 for an empty database. @throws as `migrateSqlite` */
export function schemaVersion(
  database: DatabaseSync,
  file: string,
  wanted: readonly Migration[] = migrations,
): number {
  const tables = database.prepare('select count(*) as n from sqlite_schema').get() as { n: number }
  if (tables.n === 0) return 0
  const header = database.prepare('pragma application_id').get() as { application_id: number }
  if (header.application_id !== applicationId) {
    throw foreignDatabase(file, 'Move the file, or use another data directory')
  }
  const { newest } = database.prepare('select max(number) as newest from migrations').get() as {
    newest: number
  }
  refuseNewerSchema(newest, wanted, file)
  return newest
}
