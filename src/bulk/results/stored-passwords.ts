import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { CsvRecords } from '../input/csv-records.ts'
import type { InputRow } from '../input/input-row.ts'
import type { Journal } from '../journal/journal.ts'
import { readFileLines } from '../read-file-lines.ts'
import { formatOfResults } from './results-file.ts'

/** What a file of results says of a row. */
interface StoredRow {
  line: number
  email: string
  /** Empty where none was made up. */
  password: string
}

/** @throws Failure `storage` */
async function* readStored(path: string): AsyncGenerator<StoredRow> {
  // A device or a pipe keeps nothing, and to read one may never end.
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

/** Whether a file of results has a password. */
export async function holdsPasswords(path: string): Promise<boolean> {
  for await (const { password } of readStored(path)) if (password !== '') return true
  return false
}

async function* readResultRows(path: string): AsyncIterable<Record<string, unknown>> {
  if (formatOfResults(path) === 'jsonl') {
    for await (const line of readFileLines(path)) if (line !== '') yield readObject(line)
    return
  }
  const pieces = createReadStream(path, 'utf8')
  const records = new CsvRecords(path)
  let header: readonly string[] | undefined
  for await (const piece of allWithEnd(pieces)) {
    // A program that people edit it with may put a mark before all.
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

/** What is no row of ours has no password of ours. */
function readObject(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/**
 * Walks a file of results beside the rows of the input: both are in one order, and each row of the one
 * is in the other, too.
 */
export class PasswordsInOrder {
  readonly #path: string
  readonly #isOwn: boolean
  readonly #rows: AsyncGenerator<StoredRow>
  #next: StoredRow | undefined
  #isBegun = false

  /** @param isOwn whether users may have been sent with what it keeps: nothing of that may be lost */
  constructor(path: string, isOwn: boolean) {
    this.#path = path
    this.#isOwn = isOwn
    this.#rows = readStored(path)
  }

  /**
   * The password that was made up for a row. Is asked for each row of the input, in their order.
   *
   * @throws Failure `storage` where a password of another row would be passed over
   */
  async of({ line, row }: InputRow): Promise<string | undefined> {
    if (!this.#isBegun) await this.#advance()
    this.#isBegun = true
    while (this.#next && !(this.#next.line >= line)) await this.#pass(this.#next)
    // Several rows of a JSON list may stand on one line.
    if (this.#next?.line !== line || this.#next.email !== (row?.email ?? '')) return undefined
    const { password } = this.#next
    await this.#advance()
    return password === '' ? undefined : password
  }

  /** Is called when all rows were asked for. @throws as `of` */
  async end(): Promise<void> {
    while (this.#next) await this.#pass(this.#next)
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined)
  }

  async #pass({ line, password }: StoredRow): Promise<void> {
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

/** The passwords of the file of results, of which none may be lost once users were sent with them. */
export function openPasswords(journal: Journal, results: string): PasswordsInOrder {
  const isNoted = journal.fileOf('passwords')?.path === resolve(results)
  return new PasswordsInOrder(results, isNoted && !journal.rows.isUntouched)
}

/** Whether a row gets a password that is made up. */
export function lacksPassword({ row }: InputRow): boolean {
  return row !== undefined && row.id === undefined && row.password === undefined
}
