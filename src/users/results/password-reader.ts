import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { CsvRecords } from '../input/csv-records.ts'
import type { InputRow } from '../input/input-row.ts'
import type { Journal } from '../journal/journal.ts'
import { readFileLines } from '../read-file-lines.ts'
import { formatOfResults } from './results-file.ts'

/** A row of a results file. */
interface StoredRow {
  line: number
  email: string
  /** Empty if none was generated. */
  password: string
}

/** @throws Failure `storage` */
async function* readStored(path: string): AsyncGenerator<StoredRow> {
  // A device or a pipe stores nothing, and reading it may never end.
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return
  try {
    for await (const { line, email, password } of readResultRows(path)) {
      yield {
        line: line === '' ? Number.NaN : Number(line),
        email: typeof email === 'string' ? email : '',
        password: typeof password === 'string' ? password : '',
      }
    }
  } catch (cause) {
    throw unusable(`Cannot read ${path}: ${describeSystemError(cause)}`, cause)
  }
}

function unusable(words: string, cause?: unknown): Failure {
  return new Failure('storage', words, {
    hint: 'The file contains the generated passwords of this import. Restore its earlier content.',
    cause,
  })
}

/** Whether a results file contains a generated password. */
export async function containsPasswords(path: string): Promise<boolean> {
  for await (const { password } of readStored(path)) if (password !== '') return true
  return false
}

/** The rows of a results file, by the names of its columns. */
export async function* readResultRows(path: string): AsyncIterable<Record<string, unknown>> {
  if (formatOfResults(path) === 'jsonl') {
    for await (const line of readFileLines(path)) if (line !== '') yield readObject(line)
    return
  }
  const pieces = createReadStream(path, 'utf8')
  const records = new CsvRecords(path)
  let header: readonly string[] | undefined
  for await (const piece of allWithEnd(pieces)) {
    // An editor may have added a byte order mark.
    const text = header ? piece : piece?.replace(/^\ufeff/, '')
    for (const { cells } of records.take(text ?? '', piece === undefined)) {
      if (header) yield Object.fromEntries(header.map((name, index) => [name, cells[index]]))
      else header = cells
    }
  }
}

async function* allWithEnd<T>(pieces: AsyncIterable<T>): AsyncIterable<T | undefined> {
  yield* pieces
  yield undefined
}

/** @returns an empty object for a line that chatctl did not write */
function readObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/**
 * Reads the generated passwords of a results file in step with the rows of the input. Both have the same rows
 * in the same order.
 */
export class PasswordReader {
  readonly #path: string
  readonly #isOwn: boolean
  readonly #rows: AsyncGenerator<StoredRow>
  #next: StoredRow | undefined
  #isBegun = false

  /** @param isOwn whether users may have been created with these passwords, so that none may be lost */
  constructor(path: string, isOwn: boolean) {
    this.#path = path
    this.#isOwn = isOwn
    this.#rows = readStored(path)
  }

  /**
   * The generated password of a row. Must be called for each row of the input, in order.
   *
   * @throws Failure `storage` if the password of another row would be lost
   */
  async of({ line, row }: InputRow): Promise<string | undefined> {
    if (!this.#isBegun) await this.#advance()
    this.#isBegun = true
    while (this.#next && !(this.#next.line >= line)) await this.#skip(this.#next)
    // Several rows of a JSON list may share a line.
    if (this.#next?.line !== line || this.#next.email !== (row?.email ?? '')) return undefined
    const { password } = this.#next
    await this.#advance()
    return password === '' ? undefined : password
  }

  /** Must be called after the last row. @throws as `of` */
  async end(): Promise<void> {
    while (this.#next) await this.#skip(this.#next)
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined)
  }

  async #skip({ line, password }: StoredRow): Promise<void> {
    if (this.#isOwn && Number.isNaN(line)) throw unusable(`${this.#path} was changed after chatctl wrote it`)
    if (this.#isOwn && password !== '') {
      throw unusable(`${this.#path}: the password of line ${line} is not in its original place`)
    }
    await this.#advance()
  }

  async #advance(): Promise<void> {
    const { value, done } = await this.#rows.next()
    this.#next = done ? undefined : value
  }
}

/** Opens the passwords of the results file of an import. */
export function openPasswords(journal: Journal, results: string): PasswordReader {
  const isNoted = journal.fileOf('passwords')?.path === resolve(results)
  return new PasswordReader(results, isNoted && !journal.rows.isUntouched)
}

/** Whether a row gets a generated password. */
export function lacksPassword({ row }: InputRow): boolean {
  return row !== undefined && row.id === undefined && row.password === undefined
}
