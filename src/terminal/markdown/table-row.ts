export type Alignment = 'left' | 'center' | 'right'

/** The cells of a row (GFM, section 4.10): a bar after a backslash is text. */
export function splitRow(row: string): string[] {
  const text = row.trim()
  const cells: string[] = []
  let cell = ''
  for (let at = text.startsWith('|') ? 1 : 0; at < text.length; at++) {
    const unit = text.charAt(at)
    if (unit === '\\' && text.charAt(at + 1) === '|') {
      cell += '|'
      at++
    } else if (unit === '\\') {
      cell += unit + text.charAt(at + 1)
      at++
    } else if (unit === '|') {
      cells.push(cell.trim())
      cell = ''
    } else {
      cell += unit
    }
  }
  if (cell.trim() !== '') cells.push(cell.trim())
  return cells
}

/** What the row under the header says of the columns; nothing if it is none. */
export function readDelimiters(row: string): Alignment[] | undefined {
  if (!row.includes('-') || !/^[|:\- ]+$/.test(row)) return undefined
  const cells = splitRow(row)
  if (cells.some((cell) => !/^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left'))
}
