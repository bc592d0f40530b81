import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { loadSqlite } from '../../system/load-sqlite.ts'
import type { UserRow } from '../rows/user-row.ts'

/** Bytes of the database that are held in memory: enough for 250,000 rows. */
const usualMemory = 16 * 1024 * 1024

/** A field that no two rows may share. */
type UniqueField = 'email' | 'id'

/** A field of a row whose value an earlier row has claimed, and the line of that row. */
interface TakenField {
  field: UniqueField
  line: number
}

/**
 * The emails and ids of the rows so far, in a temporary SQLite database: what does not fit into its
 * cache goes to a file without a name in the temporary directory, which is gone when this is closed.
 */
export class UniqueValues {
  readonly #database: DatabaseSync
  readonly #select: StatementSync
  readonly #insert: StatementSync

  /** @param memory bytes that are held in memory */
  constructor(memory = usualMemory) {
    const { DatabaseSync } = loadSqlite()
    this.#database = new DatabaseSync('')
    this.#database.exec(`
      PRAGMA journal_mode = OFF;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -${memory / 1024};
      CREATE TABLE claims (text TEXT PRIMARY KEY, line INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      BEGIN`)
    this.#select = this.#database.prepare('SELECT line FROM claims WHERE text = ?')
    this.#insert = this.#database.prepare('INSERT INTO claims VALUES (?, ?)')
  }

  /** @throws Failure `storage` */
  findTaken(row: UserRow): TakenField[] {
    const taken: TakenField[] = []
    for (const { field, text } of textsOf(row)) {
      const line = guard(() => this.#select.get(text))?.['line']
      if (typeof line === 'number') taken.push({ field, line })
    }
    return taken
  }

  /** Claims the email and the id of a row, which no row has claimed before. @throws Failure `storage` */
  claim(row: UserRow, line: number): void {
    for (const { text } of textsOf(row)) guard(() => this.#insert.run(text, line))
  }

  close(): void {
    this.#database.close()
  }
}

/** Email addresses that differ only in case are one. The first character tells the fields apart. */
function textsOf({ email, id }: UserRow): { field: UniqueField; text: string }[] {
  return [
    ...(email === undefined ? [] : [{ field: 'email' as const, text: `@${email.toLowerCase()}` }]),
    ...(id === undefined ? [] : [{ field: 'id' as const, text: `#${id}` }]),
  ]
}

function guard<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new Failure('storage', `Cannot use the temporary directory: ${describeSystemError(cause)}`, {
      hint: 'chatctl stores emails and ids there to find duplicates. To use another directory, set TMPDIR.',
      cause,
    })
  }
}
