import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { replaceDocument } from '../../system/files/document-file.ts'
import type { Input, InputFormat } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import type { Journal } from '../journal/journal.ts'
import type { ImportedUser } from '../rows/imported-user.ts'

/** The content of a file beside the input: failed rows, or rows whose outcome is unknown. */
export type RowListName = 'failed' | 'unknown'

/**
 * `users.failed.csv` beside `users.csv`. In the working directory for a pipe, or if the directory of the input
 * is not writable.
 */
export function rowListPath(list: RowListName, { path = 'stdin', format }: Input, number = 1): string {
  const extension = extname(path)
  const isBeside = path !== 'stdin' && isWritable(dirname(path))
  const count = number === 1 ? '' : `-${number}`
  // Failed rows are written in the format of the input.
  const ownExtension = list === 'failed' ? extension || `.${format}` : '.csv'
  const name = `${basename(path, extension)}.${list}${count}${ownExtension}`
  return join(isBeside ? dirname(path) : realpathSync('.'), name)
}

/**
 * Writes a list of rows: to the first numbered file that does not exist, or that this import wrote and the user has
 * not edited.
 *
 * @param write undefined removes the file of an earlier run
 * @returns its path, if there is anything to list
 * @throws Failure `storage`
 */
export async function writeRowList(
  list: RowListName,
  { input, journal }: { input: Input; journal: Journal },
  write: ((path: string) => Promise<void>) | undefined,
): Promise<string | undefined> {
  const type = `${list}_rows` as const
  const last = journal.content.files.get(type)
  const isOwn = (path: string) => last?.path === path && last.mark === fingerprintOf(path)
  let path = rowListPath(list, input)
  for (let number = 2; fingerprintOf(path) !== undefined && !isOwn(path); number++) {
    path = rowListPath(list, input, number)
  }
  if (write) {
    await write(path)
    journal.noteFile({ type, path, mark: fingerprintOf(path) })
    return path
  }
  if (isOwn(path)) rmSync(path, { force: true })
  return undefined
}

/** @returns undefined if the file does not exist or is not accessible */
function fingerprintOf(path: string): string | undefined {
  try {
    const { size, mtimeMs } = statSync(path)
    return `${size} ${mtimeMs}`
  } catch {
    return undefined
  }
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A row that failed or has faults. */
export interface FailedRow {
  row: InputRow<ImportedUser>
  /**
   * Of the user, if it was created before a later step failed. The written row has the id and no password, so that
   * it changes the user.
   */
  id: string | undefined
}

/** Writes rows in the format of the input, so that they can be fixed and imported. @throws Failure `storage` */
export async function writeFailedRows(
  path: string,
  rows: readonly FailedRow[],
  format: InputFormat,
): Promise<void> {
  const texts = rows.map((row, index) => failedRowText(row, format, index === 0))
  await replaceDocument(path, texts.join('') + (format === 'json' ? '\n]\n' : ''))
}

/** @param isFirst whether to add the beginning of the file */
function failedRowText({ row, id }: FailedRow, format: InputFormat, isFirst: boolean): string {
  switch (format) {
    case 'csv':
      return csvText(row, id, isFirst)
    case 'json':
      return `${isFirst ? '[\n' : ',\n'}${objectText(row, id)}`
    case 'jsonl':
      return `${objectText(row, id)}\n`
    case 'yaml':
      // A row with an id is written as JSON, which is valid YAML.
      return row.row === undefined || id === undefined
        ? `${row.raw.trimEnd()}\n`
        : `- ${objectText(row, id)}\n`
  }
}

function objectText({ row, raw }: InputRow<ImportedUser>, id: string | undefined): string {
  if (row === undefined || id === undefined) return raw.trim()
  const { password: _, ...kept } = row
  return JSON.stringify({ id, ...kept })
}

/** If the input has no id column, the file gets one as its first column. */
function csvText(
  { row, csv, raw }: InputRow<ImportedUser>,
  id: string | undefined,
  isFirst: boolean,
): string {
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
