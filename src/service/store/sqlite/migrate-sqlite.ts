import type { DatabaseSync } from 'node:sqlite'
import {
  createMigrationsTable,
  foreignDatabase,
  type Migration,
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
 * Migrates the database to the newest schema, each migration in a separate transaction. Several processes
 * may call it concurrently on one file.
 * @returns whether this call created the schema
 * @throws Failure `storage` for a file of another program or of a newer chatctl; nothing is written then
 */
export function migrateSqlite(
  database: DatabaseSync,
  file: string,
  wanted: readonly Migration[] = migrations,
): boolean {
  if (schemaVersion(database, file, wanted) === wanted.length) return false
  let created = false
  for (const { number, name, statements } of wanted) {
    database.exec('begin immediate')
    try {
      // Another process may have come first while this one waited for the lock.
      const done = schemaVersion(database, file, wanted)
      if (done === 0)
        database.exec(`pragma application_id = ${applicationId}; ${createMigrationsTable(words)}`)
      if (done < number) {
        database.exec(statements(words))
        database
          .prepare(`insert into migrations (number, name, applied_at) values (?, ?, ${words.now})`)
          .run(number, name)
        created ||= done === 0
      }
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }
  return created
}

/**
 * The number of the newest migration that ran; 0 for an empty database.
 * @throws as `migrateSqlite`
 */
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
