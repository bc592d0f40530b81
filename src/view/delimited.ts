import type { Grid } from './view.ts'

/** Tab-separated, without a header; `\`, tab, newline and carriage return are written as escapes. */
export function renderTsv({ rows }: Grid): string {
  return rows.map((row) => `${row.map(escapeCell).join('\t')}\n`).join('')
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escapeCell(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character)
}

/** RFC 4180 with a header, or the rows alone, to go on after it. */
export async function renderCsv({ header, rows }: Grid, withHeader = true): Promise<string> {
  const { stringify } = await import('csv-stringify/sync')
  // An empty line is no record to many readers.
  const options = { quoted_empty: header.length === 1 }
  return stringify([...(withHeader ? [[...header]] : []), ...rows.map((row) => [...row])], options)
}
