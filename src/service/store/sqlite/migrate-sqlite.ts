import type { DatabaseSync } from 'node:sqlite'
import {
  type AppliedMigration,
  checkAppliedMigrations,
  checksumOf,
  foreignDatabase,
} from '../check-applied-migrations.ts'
import { type Migration, migrations } from '../migrations/migrations.ts'

/** "chat" in ASCII, in the header of the file: identifies databases of chatctl. */
const applicationId = 0x63_68_61_74

/**
 * Migrates the database to the newest schema, each migration in a separate transaction. Several processes
 * may call it concurrently on one file.
 * @returns whether this call created the schema
 * @throws Failure `storage` for a file of another program or of a newer chatctl, or with different
 * migrations; nothing is written then
 */
export function migrateSqlite(
  database: DatabaseSync,
  file: string,
  wanted: readonly Migration[] = migrations,
): boolean {
  if (schemaVersion(database, file, wanted) === wanted.length) return false
  let created = false
  for (const migration of wanted) {
    database.exec('begin immediate')
    try {
      // Another process may have come first while this one waited for the lock.
      const done = schemaVersion(database, file, wanted)
      if (done < migration.number) {
        if (done === 0) createMigrationsTable(database)
        apply(database, migration)
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
  const applied = database
    .prepare('select number, name, checksum from migrations order by number')
    .all() as unknown as AppliedMigration[]
  return checkAppliedMigrations(applied, wanted, file)
}

function createMigrationsTable(database: DatabaseSync): void {
  database.exec(`pragma application_id = ${applicationId}`)
  database.exec(
    'create table migrations (number integer primary key, name text not null, checksum text not null, applied_at text not null) strict',
  )
}

function apply(database: DatabaseSync, migration: Migration): void {
  database.exec(migration.statements)
  database
    .prepare(
      "insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
    )
    .run(migration.number, migration.name, checksumOf(migration))
}
