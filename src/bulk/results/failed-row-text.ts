import type { InputForm } from '../input/input-form.ts'
import type { InputRow } from '../input/input-row.ts'

/**
 * The text of a row in a file of rows that failed, with its separators: see `FailedRows`.
 * @param isFirst of the file, which may need more before it
 */
export function failedRowText(
  row: InputRow,
  id: string | undefined,
  form: InputForm,
  isFirst: boolean,
): string {
  switch (form) {
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
