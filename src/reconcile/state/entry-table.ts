import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { inTemporaryDatabase, openTemporaryDatabase } from '../../system/temporary-database.ts'
import { type EntryText, formatEntry, keyOf, type StateEntry } from './state-entry.ts'

/** Cache of the database in bytes: enough for 20,000 entries. */
const memory = 4 * 1024 * 1024
/** Entries that are read at once. The table may change between two batches. */
const batchSize = 500
/** Entries of the file that are inserted at once. */
const rowsAtOnce = 32

/** An email or an id that two entries of the file have, with their lines. */
export type Repeated = ({ email: string } | { id: string }) & { line: number; earlier: number }

type LoadedRow = [key: string, id: string | null, body: string, line: number]

/** The working copy of a state file: a temporary database, so that memory does not grow with the entries. */
export class EntryTable {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #insertMany: StatementSync
  readonly #select: StatementSync
  readonly #selectById: StatementSync
  readonly #keepOriginal: StatementSync
  readonly #selectOriginal: StatementSync
  readonly #put: StatementSync
  readonly #delete: StatementSync
  readonly #want: StatementSync
  #loading: LoadedRow[] = []

  constructor() {
    const database = openTemporaryDatabase(memory)
    database.exec(`
      CREATE TABLE entries (key TEXT PRIMARY KEY, id TEXT, body TEXT NOT NULL, line INTEGER) STRICT, WITHOUT ROWID;
      CREATE TABLE originals (key TEXT PRIMARY KEY, body TEXT) STRICT, WITHOUT ROWID;
      CREATE TABLE wanted (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      BEGIN`)
    this.#database = database
    const insert = 'INSERT OR IGNORE INTO entries VALUES'
    this.#insert = database.prepare(`${insert} (?, ?, ?, ?)`)
    this.#insertMany = database.prepare(`${insert} ${Array(rowsAtOnce).fill('(?, ?, ?, ?)').join()}`)
    this.#select = database.prepare('SELECT body, line FROM entries WHERE key = ?')
    this.#selectById = database.prepare('SELECT body FROM entries WHERE id = ?')
    this.#keepOriginal = database.prepare(
      'INSERT OR IGNORE INTO originals VALUES (?, (SELECT body FROM entries WHERE key = ?))',
    )
    this.#selectOriginal = database.prepare('SELECT body FROM originals WHERE key = ?')
    this.#put = database.prepare(
      'INSERT INTO entries VALUES (?, ?, ?, NULL) ON CONFLICT DO UPDATE SET id = excluded.id, body = excluded.body',
    )
    this.#delete = database.prepare('DELETE FROM entries WHERE key = ?')
    this.#want = database.prepare('INSERT OR IGNORE INTO wanted VALUES (?)')
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
    const found = get(
      this.#database.prepare(
        'SELECT id FROM entries WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1',
      ),
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
      if (run(this.#insertMany, ...rows.flat()).changes === rowsAtOnce) return undefined
    } else for (const row of rows) run(this.#insert, ...row)
    for (const [key, , body, line] of rows) {
      const earlier = Number(get(this.#select, key)?.['line'])
      if (earlier !== line) return { email: JSON.parse(body).email, line, earlier }
    }
    return undefined
  }

  find(email: string): StateEntry | undefined {
    return entryOf(get(this.#select, keyOf(email)))
  }

  findById(id: string): StateEntry | undefined {
    return entryOf(get(this.#selectById, id))
  }

  /** Whether the table has exactly this entry. */
  contains(entry: StateEntry): boolean {
    return get(this.#select, keyOf(entry.email))?.['body'] === formatEntry(entry)
  }

  /** The entry of an email as it was loaded. */
  original(email: string): StateEntry | undefined {
    const kept = get(this.#selectOriginal, keyOf(email))
    if (kept === undefined) return this.find(email)
    return kept['body'] === null ? undefined : entryOf(kept)
  }

  /** Adds or replaces an entry. An id belongs to one user, so another entry with the same id is removed. */
  put(entry: StateEntry): void {
    const key = keyOf(entry.email)
    const other = entry.id === undefined ? undefined : this.findById(entry.id)
    if (other !== undefined && keyOf(other.email) !== key) this.remove(other.email)
    run(this.#keepOriginal, key, key)
    run(this.#put, key, entry.id ?? null, formatEntry(entry))
  }

  remove(email: string): void {
    const key = keyOf(email)
    run(this.#keepOriginal, key, key)
    run(this.#delete, key)
  }

  /** Whether any entry differs from what was loaded. */
  get isChanged(): boolean {
    const changed = this.#database.prepare(
      'SELECT 1 FROM originals LEFT JOIN entries USING (key) WHERE entries.body IS NOT originals.body LIMIT 1',
    )
    return get(changed) !== undefined
  }

  markWanted(email: string): void {
    run(this.#want, keyOf(email))
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

function run(statement: StatementSync, ...values: SQLInputValue[]) {
  return inTemporaryDatabase(() => statement.run(...values))
}

function get(statement: StatementSync, ...values: SQLInputValue[]) {
  return inTemporaryDatabase(() => statement.get(...values))
}

function entryOf(row: ReturnType<typeof get>): StateEntry | undefined {
  return row && JSON.parse(String(row['body']))
}
