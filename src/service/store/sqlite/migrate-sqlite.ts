import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { Failure } from '../../../failure.ts'
import { type Migration, migrations } from '../migrations/migrations.ts'

/** "chat" in ASCII, in the file's header: tells our files from any other SQLite database. */
const applicationId = 0x63_68_61_74

interface AppliedMigration {
  number: number
  name: string
  checksum: string
}

/**
 * Brings the database to the newest schema, each migration in a transaction of its own. Several
 * processes may call this at once on one file.
 * @returns whether this call made the schema from nothing
 * @throws Failure `storage` for a file that is not ours, is newer than this program or whose
 * migrations differ from this program's; nothing is written then
 */
export function migrateSqlite(
  database: DatabaseSync,
  file: string,
  wanted: readonly Migration[] = migrations,
): boolean {
  if (verify(database, file, wanted) === wanted.length) return false
  let created = false
  for (const migration of wanted) {
    database.exec('begin immediate')
    try {
      // Another process may have come first while this one waited for the lock.
      const done = verify(database, file, wanted)
      if (done < migration.number) {
        if (done === 0) createLedger(database)
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

/** The number of the newest schema that the database has; 0 for an empty one. */
function verify(database: DatabaseSync, file: string, wanted: readonly Migration[]): number {
  const tables = database.prepare('select count(*) as n from sqlite_schema').get() as { n: number }
  if (tables.n === 0) return 0
  const header = database.prepare('pragma application_id').get() as { application_id: number }
  if (header.application_id !== applicationId) {
    throw new Failure('storage', `${file} is a database of another program; nothing in it was changed`, {
      hint: 'Move it away, or use another data folder',
    })
  }
  const applied = database
    .prepare('select number, name, checksum from migrations order by number')
    .all() as unknown as AppliedMigration[]
  for (const { number, name, checksum } of applied) {
    const known = wanted[number - 1]
    if (!known) {
      throw new Failure(
        'storage',
        `${file} was made by a newer chatctl (schema ${applied.length}, this one knows ${wanted.length}); nothing in it was changed`,
        { hint: 'Use the newer chatctl: npm install -g chatctl@latest' },
      )
    }
    if (checksumOf(known) !== checksum) {
      throw new Failure(
        'storage',
        `${file} has another migration ${number} (${name}) than this chatctl; nothing in it was changed`,
        { hint: 'Use the chatctl that made it, or restore the file from a backup' },
      )
    }
  }
  return applied.length
}

function createLedger(database: DatabaseSync): void {
  database.exec(`pragma application_id = ${applicationId}`)
  database.exec(
    'create table migrations (number integer primary key, name text not null, checksum text not null, applied_at text not null) strict',
  )
}

function apply(database: DatabaseSync, migration: Migration): void {
  database.exec(migration.statements)
  database
    .prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)')
    .run(migration.number, migration.name, checksumOf(migration), new Date().toISOString())
}

const checksumOf = ({ statements }: Migration) => createHash('sha256').update(statements).digest('hex')
