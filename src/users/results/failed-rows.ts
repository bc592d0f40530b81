import { DocumentFile } from '../../system/files/document-file.ts'
import type { InputFormat } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { RowList } from './row-list-file.ts'

/** Size of the buffer in UTF-16 units. */
const bufferSize = 64 * 1024

/**
 * The rows that failed or have faults, in the format of the input, so that they can be fixed and
 * imported. If they cannot be written, the import still reports the others: see `failure`.
 */
export class FailedRows extends RowList {
  count = 0
  readonly #path: string
  readonly #format: InputFormat
  #file: DocumentFile | undefined
  #buffer = ''

  /** @param path is replaced by `finish`, and not changed if no row was added */
  constructor(path: string, format: InputFormat) {
    super()
    this.#path = path
    this.#format = format
  }

  override get isNeeded(): boolean {
    return this.count > 0
  }

  /**
   * @param id of the user, if it was created before a later step failed. The written row has the id and no
   *   password, so that it changes the user.
   */
  async add(row: InputRow, id: string | undefined): Promise<void> {
    if (!this.failure) this.#buffer += failedRowText(row, id, this.#format, this.count === 0)
    this.count++
    if (this.#buffer.length > bufferSize) await this.guard(() => this.#write())
  }

  /** Replaces the file. */
  override async finish(): Promise<void> {
    if (this.count === 0) return
    if (this.#format === 'json') this.#buffer += '\n]\n'
    await this.guard(async () => {
      await this.#write()
      await this.#file?.finish()
    })
  }

  /** Keeps the existing file. */
  override async discard(): Promise<void> {
    this.#buffer = ''
    await this.#file?.discard()
  }

  async #write(): Promise<void> {
    this.#file ??= new DocumentFile(this.#path)
    await this.#file.write(Buffer.from(this.#buffer))
    this.#buffer = ''
  }
}

/**
 * The text of a row in the file of failed rows, with its separators.
 *
 * @param isFirst whether to add the beginning of the file
 */
function failedRowText(row: InputRow, id: string | undefined, format: InputFormat, isFirst: boolean): string {
  switch (format) {
    case 'csv':
      return csvText(row, id, isFirst)
    case 'json':
      return `${isFirst ? '[\n' : ',\n'}${objectText(row, id)}`
    case 'jsonl':
      return `${objectText(row, id)}\n`
    case 'yaml':
      return yamlText(row, id)
  }
}

function objectText({ row, raw }: InputRow, id: string | undefined): string {
  return row === undefined || id === undefined ? raw.trim() : JSON.stringify(withId(row, id))
}

/** A row with an id is written as JSON, which is valid YAML. */
function yamlText(row: InputRow, id: string | undefined): string {
  if (row.row === undefined || id === undefined) return `${row.raw.trimEnd()}\n`
  return `- ${objectText(row, id)}\n`
}

function withId(row: object, id: string): object {
  const { password: _, ...kept } = row as { password?: unknown }
  return { id, ...kept }
}

/** If the input has no id column, the file gets one as its first column. */
function csvText({ row, csv, raw }: InputRow, id: string | undefined, isFirst: boolean): string {
  const { names = [], header: given = [], separator = ',' } = csv?.columns ?? {}
  const joinCells = (cells: readonly string[]) =>
    cells.map((cell) => (/[",;\t\r\n]/.test(cell) ? quoted(cell) : cell)).join(separator)
  const hasColumn = names.includes('id')
  const header = isFirst ? `${joinCells(hasColumn ? given : ['id', ...given])}\n` : ''
  // As one quoted cell, because two rows with unclosed quotes would become one valid row.
  if (row === undefined && csv?.cells.length === 0) return `${header}${quoted(raw)}\n`
  if (id === undefined || !csv) return `${header}${hasColumn ? '' : separator}${raw}\n`
  const cells = csv.cells.map((cell, index) => {
    if (names[index] === 'id') return id
    return names[index] === 'password' ? '' : cell
  })
  return `${header}${joinCells(hasColumn ? cells : [id, ...cells])}\n`
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}
