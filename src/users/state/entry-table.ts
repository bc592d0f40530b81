import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { inTemporaryDatabase, openTemporaryDatabase } from '../../system/temporary-database.ts'
import { type EntryText, formatEntry, keyOf, type StateEntry } from './state-entry.ts'

/** Cache of the database in bytes: enough for 20,000 entries. */
const memory = 4 * 1024 * 1024
/** Entries that are read at once. The table may change between two batches. */
const batchSize = 500
/** Entries of the file that are inserted at once. */
const rowsAtOnce = 32

const select = 'SELECT body, line FROM entries WHERE key = ?'
const insert = 'INSERT OR IGNORE INTO entries VALUES'
const insertMany = `${insert} ${Array(rowsAtOnce).fill('(?, ?, ?, ?)').join()}`
const keepOriginal = 'INSERT OR IGNORE INTO originals VALUES (?, (SELECT body FROM entries WHERE key = ?))'

/** An email or an id that two entries of the file have, with their lines. */
export type Repeated = ({ email: string } | { id: string }) & { line: number; earlier: number }

type LoadedRow = [key: string, id: string | null, body: string, line: number]

/** The working copy of a state file: a temporary database, so that memory does not grow with the entries. */
export class EntryTable {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #loading: LoadedRow[] = []

  constructor() {
    this.#database = openTemporaryDatabase(memory)
    this.#database.exec(`
      CREATE TABLE entries (key TEXT PRIMARY KEY, id TEXT, body TEXT NOT NULL, line INTEGER) STRICT, WITHOUT ROWID;
      CREATE TABLE originals (key TEXT PRIMARY KEY, body TEXT) STRICT, WITHOUT ROWID;
      CREATE TABLE wanted (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      BEGIN`)
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #run(sql: string, ...values: SQLInputValue[]) {
    return inTemporaryDatabase(() => this.#prepared(sql).run(...values))
  }

  #get(sql: string, ...values: SQLInputValue[]) {
    return inTemporaryDatabase(() => this.#prepared(sql).get(...values))
  }

  /**
   * Adds an entry of the file.
   *
   * @returns an email that two of the entries have so far
   */
  load({ email, id, body }: EntryText, line: number): Repeated | undefined {
    this.#loading.push([keyOf(email), id ?? null, body, line])
    return this.#loading.length === rowsAtOnce ? this.#insertLoading() : undefined
  }

  /**
   * Call it after the last `load`, because an index is created faster from all entries.
   *
   * @returns an email or an id that two entries have
   */
  endLoading(): Repeated | undefined {
    const repeated = this.#insertLoading()
    if (repeated) return repeated
    inTemporaryDatabase(() => this.#database.exec('CREATE INDEX entries_by_id ON entries (id)'))
    // The index alone answers this query. Lines are in the table, which would be read in random order.
    const found = this.#get(
      'SELECT id FROM entries WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1',
    )
    if (found === undefined) return undefined
    const id = String(found['id'])
    const lines = this.#database.prepare('SELECT line FROM entries WHERE id = ? ORDER BY line').all(id)
    return { id, line: Number(lines[1]?.['line']), earlier: Number(lines[0]?.['line']) }
  }

  /** One statement for many rows takes about half of the time. */
  #insertLoading(): Repeated | undefined {
    const rows = this.#loading
    this.#loading = []
    if (rows.length === rowsAtOnce) {
      if (this.#run(insertMany, ...rows.flat()).changes === rowsAtOnce) return undefined
    } else for (const row of rows) this.#run(`${insert} (?, ?, ?, ?)`, ...row)
    for (const [key, , body, line] of rows) {
      const earlier = Number(this.#get(select, key)?.['line'])
      if (earlier !== line) return { email: JSON.parse(body).email, line, earlier }
    }
    return undefined
  }

  find(email: string): StateEntry | undefined {
    return entryOf(this.#get(select, keyOf(email)))
  }

  findById(id: string): StateEntry | undefined {
    return entryOf(this.#get('SELECT body FROM entries WHERE id = ?', id))
  }

  /** Whether the table has exactly this entry. */
  contains(entry: StateEntry): boolean {
    return this.#get(select, keyOf(entry.email))?.['body'] === formatEntry(entry)
  }

  /** The entry of an email as it was loaded. */
  original(email: string): StateEntry | undefined {
    const kept = this.#get('SELECT body FROM originals WHERE key = ?', keyOf(email))
    if (kept === undefined) return this.find(email)
    return kept['body'] === null ? undefined : entryOf(kept)
  }

  /** Adds or replaces an entry. An id belongs to one user, so another entry with the same id is removed. */
  put(entry: StateEntry): void {
    const key = keyOf(entry.email)
    const other = entry.id === undefined ? undefined : this.findById(entry.id)
    if (other !== undefined && keyOf(other.email) !== key) this.remove(other.email)
    this.#run(keepOriginal, key, key)
    this.#run(
      'INSERT INTO entries VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE SET id = excluded.id, body = excluded.body',
      ...[key, entry.id ?? null, formatEntry(entry)],
    )
  }

  remove(email: string): void {
    const key = keyOf(email)
    this.#run(keepOriginal, key, key)
    this.#run('DELETE FROM entries WHERE key = ?', key)
  }

  /** Whether any entry differs from what was loaded. */
  get isChanged(): boolean {
    const changed =
      'SELECT 1 FROM originals LEFT JOIN entries USING (key) WHERE entries.body IS NOT originals.body LIMIT 1'
    return this.#get(changed) !== undefined
  }

  markWanted(email: string): void {
    this.#run('INSERT OR IGNORE INTO wanted VALUES (?)', keyOf(email))
  }

  /** Sorted by email. @param which `unwanted`: without those that were marked as wanted */
  *entries(which: 'all' | 'unwanted'): IterableIterator<StateEntry> {
    for (const body of this.bodies(which)) yield JSON.parse(body)
  }

  /** The texts of the entries, sorted by email. */
  *bodies(which: 'all' | 'unwanted'): IterableIterator<string> {
    const filter = which === 'all' ? '' : 'AND key NOT IN wanted'
    const next = this.#database.prepare(
      `SELECT key, body FROM entries WHERE key > ? ${filter} ORDER BY key LIMIT ${batchSize}`,
    )
    for (let last = ''; ; ) {
      const batch = inTemporaryDatabase(() => next.all(last))
      for (const { body } of batch) yield String(body)
      if (batch.length < batchSize) return
      last = String(batch.at(-1)?.['key'])
    }
  }

  /**
   * Chooses wanted users whose id is known: those that were never checked, then those that were checked longest
   * ago.
   *
   * @returns whether the user with an email was chosen
   */
  chooseLongestUnchecked(limit: number): (email: string) => boolean {
    const choice = this.#database.prepare(
      `SELECT key FROM entries WHERE id IS NOT NULL AND key IN wanted
       ORDER BY coalesce(body ->> '$.checkedAt', ''), key LIMIT ?`,
    )
    const chosen = new Set(inTemporaryDatabase(() => choice.all(limit)).map(({ key }) => String(key)))
    return (email) => chosen.has(keyOf(email))
  }

  close(): void {
    this.#database.close()
  }
}

function entryOf(row: Record<string, unknown> | undefined): StateEntry | undefined {
  return row && JSON.parse(String(row['body']))
}
