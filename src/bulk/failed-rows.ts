import { accessSync, constants, existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { FileNote } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import { replaceDocument } from '../system/files/document-file.ts'
import type { Input, InputFormat } from './input/input.ts'
import type { InputRow, RowShape } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'

/** The content of a file beside the input: failed rows, or rows whose outcome is unknown. */
type RowListName = 'failed' | 'unknown'

/**
 * `users.failed.csv` beside `users.csv`. In the working directory for a pipe, or if the directory of the input
 * is not writable.
 */
function rowListPath(list: RowListName, { path = 'stdin', format }: Input, number = 1): string {
  const extension = extname(path)
  const isBeside = path !== 'stdin' && isWritable(dirname(path))
  const count = number === 1 ? '' : `-${number}`
  // Failed rows are written in the format of the input.
  const ownExtension = list === 'failed' ? extension || `.${format}` : '.csv'
  const name = `${basename(path, extension)}.${list}${count}${ownExtension}`
  return join(isBeside ? dirname(path) : realpathSync('.'), name)
}

/** @throws Failure `usage` if the results would replace the input or a file of failed or unknown rows */
export function assertApart(results: string, input: Input): void {
  const path = existsSync(results)
    ? realpathSync(results)
    : join(realpathSync(dirname(results)), basename(results))
  if (path === input.path) {
    throw new Failure('usage', `Cannot write the results to ${results}: it is the input file`)
  }
  if (path !== rowListPath('failed', input) && path !== rowListPath('unknown', input)) return
  throw new Failure(
    'usage',
    `Cannot write the results to ${results}: chatctl writes failed or unknown rows there`,
    { hint: 'Choose another file with --results.' },
  )
}

/**
 * Writes a list of rows: to the first numbered file that does not exist, or that this import wrote and the user has
 * not edited.
 * @param write undefined removes the file of an earlier run
 * @returns its path, if there is anything to list
 * @throws Failure `storage`
 */
export async function writeRowList(
  list: RowListName,
  { input, run }: { input: Input; run: Run },
  write: ((path: string) => Promise<void>) | undefined,
): Promise<string | undefined> {
  const written = new Map(
    Ledger.of(run.directories, run.service)
      .notesWith<FileNote>('file', list)
      .map(({ path, mark }) => [path, mark]),
  )
  const isOwn = (path: string) => written.has(path) && written.get(path) === fingerprintOf(path)
  let path = rowListPath(list, input)
  for (let number = 2; fingerprintOf(path) !== undefined && !isOwn(path); number++) {
    path = rowListPath(list, input, number)
  }
  if (write) {
    await write(path)
    await run.note({ file: list, path, mark: fingerprintOf(path) })
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

/**
 * Writes rows of the input to the file of failed rows.
 * @param ids see `FailedRow`, by the index of the row
 * @returns as `writeRowList`
 */
export async function writeFailedList<R>(
  { input, shape, run }: { input: Input; shape: RowShape<R>; run: Run },
  ids: ReadonlyMap<number, string | undefined>,
): Promise<string | undefined> {
  if (ids.size === 0) return writeRowList('failed', { input, run }, undefined)
  const rows: FailedRow<R>[] = []
  for await (const row of readRows(input, shape)) {
    if (ids.has(row.index)) rows.push({ row, id: ids.get(row.index) })
  }
  return writeRowList('failed', { input, run }, (path) =>
    writeFailedRows(path, rows, input.format, shape.hasIds),
  )
}

/** A row that failed or has faults. */
interface FailedRow<R> {
  row: InputRow<R>
  /**
   * Of the user, if it was created before a later step failed. The written row has the id and no password, so that
   * it changes the user.
   */
  id: string | undefined
}

/**
 * Writes rows in the format of the input, so that they can be fixed and sent.
 * @param hasIds whether the file gets a column for IDs
 * @throws Failure `storage`
 */
export async function writeFailedRows<R>(
  path: string,
  rows: readonly FailedRow<R>[],
  format: InputFormat,
  hasIds: boolean,
): Promise<void> {
  const texts = rows.map((row, index) => failedRowText(row, format, { isFirst: index === 0, hasIds }))
  await replaceDocument(path, texts.join('') + (format === 'json' ? '\n]\n' : ''))
}

/** @param file.isFirst whether to add the beginning of the file */
function failedRowText<R>(
  { row, id }: FailedRow<R>,
  format: InputFormat,
  file: { isFirst: boolean; hasIds: boolean },
): string {
  const { isFirst } = file
  switch (format) {
    case 'csv':
      return csvText(row, id, file)
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

function objectText<R>({ row, raw }: InputRow<R>, id: string | undefined): string {
  if (row === undefined || id === undefined) return raw.trim()
  const { password: _, ...kept } = row as { password?: unknown }
  return JSON.stringify({ id, ...kept })
}

/** If the input has no id column, the file gets one as its first column. */
function csvText<R>(
  { row, csv, raw }: InputRow<R>,
  id: string | undefined,
  { isFirst, hasIds }: { isFirst: boolean; hasIds: boolean },
): string {
  const { names = [], header: given = [], separator = ',' } = csv?.columns ?? {}
  const joinCells = (cells: readonly string[]) =>
    cells.map((cell) => (/[",;\t\r\n]/.test(cell) ? quoted(cell) : cell)).join(separator)
  const addsColumn = hasIds && !names.includes('id')
  const header = isFirst ? `${joinCells(addsColumn ? ['id', ...given] : given)}\n` : ''
  // As one quoted cell, because two rows with unclosed quotes would become one valid row.
  if (row === undefined && csv?.cells.length === 0) return `${header}${quoted(raw)}\n`
  if (id === undefined || !csv) return `${header}${addsColumn ? separator : ''}${raw}\n`
  const cells = csv.cells.map((cell, index) => {
    if (names[index] === 'id') return id
    return names[index] === 'password' ? '' : cell
  })
  return `${header}${joinCells(addsColumn ? [id, ...cells] : cells)}\n`
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}
