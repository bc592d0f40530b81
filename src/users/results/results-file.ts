import { Failure } from '../../contract/failure.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import type { RowResult } from './row-result.ts'

export type ResultsFormat = 'csv' | 'jsonl'

/** @throws Failure `usage` for another file extension */
export function formatOfResults(path: string): ResultsFormat {
  if (/\.csv$/i.test(path)) return 'csv'
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl'
  throw new Failure('usage', `Unknown file extension of the results file ${path}`, {
    hint: 'Use the file extension .csv or .jsonl.',
  })
}

/** A result as it is written: `line` includes the column if rows share a line. */
export type WrittenResult = Omit<RowResult, 'line'> & { line: number | string; password?: string }

const columns = ['line', 'email', 'id', 'status', 'error'] as const

/** Keeps other processes from writing a results file, because its passwords would be lost. @throws as both calls */
export function lockResults(path: string): () => void {
  formatOfResults(path)
  return new DocumentFile(path).lock()
}

/** Writes results in batches, because there may be millions. */
export class ResultsWriter {
  readonly #file: DocumentFile
  readonly #format: ResultsFormat
  readonly #columns: readonly (keyof WrittenResult)[]
  #isBegun = false

  constructor(path: string, hasPasswords: boolean) {
    this.#format = formatOfResults(path)
    this.#file = new DocumentFile(path)
    this.#columns = hasPasswords ? [...columns, 'password'] : columns
  }

  async write(results: readonly WrittenResult[]): Promise<void> {
    await this.#file.write(
      Buffer.from(this.#format === 'csv' ? await this.#csvOf(results) : this.#jsonlOf(results)),
    )
  }

  async finish(): Promise<void> {
    if (!this.#isBegun) await this.write([])
    await this.#file.finish()
  }

  /** Keeps the existing file. */
  async discard(): Promise<void> {
    await this.#file.discard()
  }

  async #csvOf(results: readonly WrittenResult[]): Promise<string> {
    const { stringify } = await import('csv-stringify/sync')
    const header = this.#isBegun ? [] : [[...this.#columns]]
    this.#isBegun = true
    return stringify([...header, ...results.map((result) => this.#columns.map((name) => result[name] ?? ''))])
  }

  #jsonlOf(results: readonly WrittenResult[]): string {
    this.#isBegun = true
    return results
      .map((result) => {
        const shown = Object.fromEntries(this.#columns.map((name) => [name, result[name] ?? null]))
        return `${JSON.stringify(shown)}\n`
      })
      .join('')
  }
}
