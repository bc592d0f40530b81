import { DocumentFile } from '../../system/document-file.ts'
import type { InputFormat } from '../input/input-format.ts'
import type { InputRow } from '../input/input-row.ts'
import { RowList } from './row-list-file.ts'

/** UTF-16 units that are held before they are written. */
const heldText = 64 * 1024

/**
 * The rows that failed or have faults, in the format of the input, so that they can be fixed and
 * imported. If they cannot be written, the import still reports the others: see `trouble`.
 */
export class FailedRows extends RowList {
  count = 0
  readonly #path: string
  readonly #format: InputFormat
  #file: DocumentFile | undefined
  #held = ''

  /** @param path is replaced when it is whole; without a row it is left as it is */
  constructor(path: string, format: InputFormat) {
    super()
    this.#path = path
    this.#format = format
  }

  override get isNeeded(): boolean {
    return this.count > 0
  }

  /**
   * @param id of the user that was made of the row before a later step failed: the row has that now,
   *   and no password
   */
  async add(row: InputRow, id: string | undefined): Promise<void> {
    if (!this.trouble) this.#held += failedRowText(row, id, this.#format, this.count === 0)
    this.count++
    if (this.#held.length > heldText) await this.guard(() => this.#write())
  }

  /** Puts the file in its place. */
  override async finish(): Promise<void> {
    if (this.count === 0) return
    if (this.#format === 'json') this.#held += '\n]\n'
    await this.guard(async () => {
      await this.#write()
      await this.#file?.finish()
    })
  }

  /** Leaves what was there before. */
  override async discard(): Promise<void> {
    this.#held = ''
    await this.#file?.discard()
  }

  async #write(): Promise<void> {
    this.#file ??= new DocumentFile(this.#path)
    await this.#file.write(Buffer.from(this.#held))
    this.#held = ''
  }
}

/**
 * The text of a row in a file of rows that failed, with its separators.
 * @param isFirst of the file, which may need more before it
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

/** JSON is a flow mapping of YAML. */
function yamlText(row: InputRow, id: string | undefined): string {
  if (row.row === undefined || id === undefined) return `${row.raw.trimEnd()}\n`
  return `- ${objectText(row, id)}\n`
}

function withId(row: object, id: string): object {
  const { password: _, ...kept } = row as { password?: unknown }
  return { id, ...kept }
}

/** Without a column of ids it gets one as its first, whether a row has an id or not. */
function csvText({ row, csv, raw }: InputRow, id: string | undefined, isFirst: boolean): string {
  const names = csv?.names ?? []
  const hasColumn = names.includes('id')
  const header = isFirst ? `${joinCells(hasColumn ? names : ['id', ...names])}\n` : ''
  // As one cell, for two rows of which each opens a quote would make one that is whole.
  if (row === undefined && csv?.cells.length === 0) return `${header}${quoted(raw)}\n`
  if (id === undefined || !csv) return `${header}${hasColumn ? '' : ','}${raw}\n`
  const cells = csv.cells.map((cell, index) => {
    if (names[index] === 'id') return id
    return names[index] === 'password' ? '' : cell
  })
  return `${header}${joinCells(hasColumn ? cells : [id, ...cells])}\n`
}

function joinCells(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? quoted(cell) : cell)).join()
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}
