import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Failure } from '../../failure.ts'
import { systemWords } from '../../system-words.ts'
import { CsvRecords } from '../input/csv-records.ts'
import type { InputRow } from '../input/read-rows.ts'
import { formOfResults } from './results-file.ts'

/** A password that was made up, of the row on a line of the input. */
interface StoredPassword {
  line: number
  password: string
}

/**
 * The passwords that a file of results keeps, in the order of the rows; none where there is no file.
 *
 * @throws Failure `storage`
 */
async function* readPasswords(path: string): AsyncIterable<StoredPassword> {
  if (!existsSync(path)) return
  try {
    for await (const row of readResultRows(path)) {
      const { line, password } = row
      if (typeof password === 'string' && password !== '') yield { line: Number(line), password }
    }
  } catch (cause) {
    throw new Failure('storage', `${path} cannot be read: ${systemWords(cause)}`, {
      hint: 'It keeps the passwords of this import: put it back as it was.',
      cause,
    })
  }
}

/** Whether a file of results has a column of passwords. */
export async function holdsPasswords(path: string): Promise<boolean> {
  for await (const _ of readPasswords(path)) return true
  return false
}

async function* readResultRows(path: string): AsyncIterable<Record<string, unknown>> {
  const text = createReadStream(path, 'utf8')
  if (formOfResults(path) === 'jsonl') {
    for await (const line of createInterface({ input: text })) if (line !== '') yield readObject(line)
    return
  }
  const records = new CsvRecords(path)
  let header: readonly string[] | undefined
  for await (const piece of allWithEnd(text)) {
    for (const { cells } of records.take(piece ?? '', piece === undefined)) {
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

/** Walks a file of results beside the rows of the input: both are in one order. */
export class PasswordsInOrder {
  readonly #passwords: AsyncIterator<StoredPassword>
  #next: StoredPassword | undefined
  #isBegun = false

  constructor(path: string) {
    this.#passwords = readPasswords(path)[Symbol.asyncIterator]()
  }

  /** @param line of the input; each call has a later one */
  async at(line: number): Promise<string | undefined> {
    if (!this.#isBegun) await this.#advance()
    this.#isBegun = true
    while (this.#next && this.#next.line < line) await this.#advance()
    return this.#next?.line === line ? this.#next.password : undefined
  }

  async close(): Promise<void> {
    await this.#passwords.return?.()
  }

  async #advance(): Promise<void> {
    const { value, done } = await this.#passwords.next()
    this.#next = done ? undefined : value
  }
}

/** Whether a row gets a password that is made up. */
export function lacksPassword({ row }: InputRow): boolean {
  return row !== undefined && row.id === undefined && row.password === undefined
}
