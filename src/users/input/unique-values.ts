import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTemporaryDatabase, openTemporaryDatabase } from '../../system/temporary-database.ts'
import type { ImportedUser } from '../rows/imported-user.ts'

/** Cache of the database in bytes: enough for 250,000 rows. */
const defaultMemory = 16 * 1024 * 1024

/** A field that no two rows may share. */
type UniqueField = 'email' | 'id'

/** A field whose value an earlier row has, and the line of that row. */
interface TakenField {
  field: UniqueField
  line: number
}

/** The emails and ids of the rows so far, in a temporary database. */
export class UniqueValues {
  readonly #database: DatabaseSync
  readonly #select: StatementSync
  readonly #insert: StatementSync

  /** @param memory size of the cache in bytes */
  constructor(memory = defaultMemory) {
    this.#database = openTemporaryDatabase(memory)
    this.#database.exec(`
      CREATE TABLE claims (text TEXT PRIMARY KEY, line INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      BEGIN`)
    this.#select = this.#database.prepare('SELECT line FROM claims WHERE text = ?')
    this.#insert = this.#database.prepare('INSERT OR IGNORE INTO claims VALUES (?, ?)')
  }

  /** @throws Failure `storage` */
  findTaken(row: ImportedUser): TakenField[] {
    const taken: TakenField[] = []
    for (const { field, text } of textsOf(row)) {
      const line = inTemporaryDatabase(() => this.#select.get(text))?.['line']
      if (typeof line === 'number') taken.push({ field, line })
    }
    return taken
  }

  /** Adds the email and the id of a row. A value that is taken keeps its line. @throws Failure `storage` */
  claim(row: ImportedUser, line: number): void {
    for (const { text } of textsOf(row)) inTemporaryDatabase(() => this.#insert.run(text, line))
  }

  close(): void {
    this.#database.close()
  }
}

/** Email addresses are compared without case. The first character distinguishes the fields. */
function textsOf({ email, id }: ImportedUser): { field: UniqueField; text: string }[] {
  return [
    ...(email === undefined ? [] : [{ field: 'email' as const, text: `@${email.toLowerCase()}` }]),
    ...(id === undefined ? [] : [{ field: 'id' as const, text: `#${id}` }]),
  ]
}
