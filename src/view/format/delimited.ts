import type { Grid } from './view.ts'

/** Tab-separated values without a header. Backslash, tab, newline, and carriage return are escaped. */
export function renderTsv({ rows }: Grid): string {
  return rows.map((row) => `${row.map(escapeCell).join('\t')}\n`).join('')
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escapeCell(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character)
}

/**
 * CSV as in RFC 4180, but lines end with LF, which other programs in a pipe expect. Without the header, the
 * rows continue earlier output.
 */
export async function renderCsv({ header, rows }: Grid, withHeader = true): Promise<string> {
  const { stringify } = await import('csv-stringify/sync')
  // Many readers skip an empty line.
  const options = { quoted_empty: header.length === 1 }
  return stringify([...(withHeader ? [[...header]] : []), ...rows.map((row) => [...row])], options)
}
