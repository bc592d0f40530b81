import type { ClientBase } from 'pg'
import { Failure } from '../../../contract/failure.ts'
import {
  dataInUse,
  foreignDatabase,
  type Migrated,
  type Migration,
  type MigrationRule,
  migrationSql,
  refuseNewerSchema,
  refuseOlderSchema,
  type SqlWords,
} from '../migrations.ts'
import { createTriggers, useLock } from './change-feed.ts'

/** "chat" in ASCII: the advisory lock of processes that migrate a database. */
const migrationLock = 0x63_68_61_74

const words: SqlWords = {
  integer: 'bigint',
  sequence: 'bigint generated always as identity primary key',
  // The cast fails for a text that is not JSON.
  isJson: (column) => `${column}::json is not null`,
  now: `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  strict: '',
}

/**
 * Migrates the first schema of the search path in one transaction. Several processes may call it concurrently on one
 * database.
 * @returns undefined if this call did nothing
 * @throws Failure `storage` for tables of another program, or of another chatctl; `conflict` if they are in use;
 *   nothing is written then
 */
export async function migratePostgres(
  client: ClientBase,
  location: string,
  wanted: readonly Migration[],
  rule?: MigrationRule,
): Promise<Migrated | undefined> {
  const known = await schemaVersion(client, location, wanted)
  refuseOlderSchema(known, wanted, location, rule)
  if (known === wanted.length) return undefined
  const size = async (): Promise<number> =>
    (await client.query('select pg_database_size(current_database()) as bytes')).rows[0].bytes
  return underLock(client, rule === 'rehearsal' ? 'rollback' : 'commit', async () => {
    // Another process may have come first while this one waited for the lock.
    const from = await schemaVersion(client, location, wanted)
    if (from === wanted.length) return undefined
    if (from > 0 && rule !== 'always') {
      const { rows } = await client.query(`select pg_try_advisory_xact_lock(${useLock}) as is_free`)
      if (!rows[0].is_free) throw dataInUse(location)
    }
    const bytes_before = await size()
    await client.query(`${migrationSql(from, wanted, words)};${createTriggers}`)
    return { from, to: wanted.length, bytes_before, bytes_after: await size() }
  })
}

/**
 * The number of the newest migration that ran; 0 for an empty database.
 * @throws Failure `storage`, as `migratePostgres`
 */
export async function schemaVersion(
  client: ClientBase,
  location: string,
  wanted: readonly Migration[],
): Promise<number> {
  const { rows } = await client.query<{
    schema: string | null
    encoding: string
    tables: number
    columns: number
  }>(inspectSchema)
  const [{ schema, encoding, tables, columns } = { schema: null, encoding: '', tables: 0, columns: 0 }] = rows
  if (schema === null) {
    throw new Failure('storage', `${location} has no schema in which this user can create tables`, {
      hint: 'Create a schema and add it to the search_path of the user',
    })
  }
  if (encoding !== 'UTF8') {
    throw new Failure('storage', `${location} has the encoding ${encoding}; chatctl requires UTF8`, {
      advice: [{ code: 'create_database', exists: true }],
    })
  }
  if (tables === 0) return 0
  if (columns !== 3) throw foreignDatabase(location, 'Create a separate database or schema for chatctl')
  const found = await client.query<{ newest: number }>('select max(number) as newest from migrations')
  const newest = found.rows[0]?.newest ?? 0
  refuseNewerSchema(newest, wanted, location)
  return newest
}

/** Tables of extensions are not data of another program. */
const inspectSchema = `
with ours as (
  select c.oid, c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
  where s.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not exists (select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
)
select current_schema() as schema, current_setting('server_encoding') as encoding,
  (select count(*) from ours) as tables,
  (select count(*) from ours join pg_attribute a on a.attrelid = ours.oid
    where ours.relname = 'migrations' and a.attname in ('number', 'name', 'applied_at')
  ) as columns`

async function underLock<T>(
  client: ClientBase,
  end: 'commit' | 'rollback',
  work: () => Promise<T>,
): Promise<T> {
  await client.query('begin')
  try {
    // To migrate large tables takes long, and so does waiting for another process.
    await client.query('set local statement_timeout = 0')
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`)
    const result = await work()
    await client.query(end)
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
