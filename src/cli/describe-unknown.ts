import type { UnknownKind } from '../bulk/results/report-rows.ts'
import type { RowResult } from '../bulk/results/row-result.ts'

/** A row of which nobody knows, and what could be done about it. */
export type UnknownRow = RowResult & { kind: UnknownKind }

/** The command line that settles the row on a line, by what is said of it. */
export type Settle = (as: 'created' | 'retry' | 'skip', line: number) => string

/**
 * Each row of which nobody knows, with the command that settles it, and what may be said in place
 * of that; commands stand on lines of their own, to be copied.
 *
 * @param count of all, where `rows` are only the first
 * @param settle absent where nothing is created
 */
export function describeUnknown(
  rows: readonly UnknownRow[],
  count: number,
  settle: Settle | undefined,
): string {
  const lines = rows.flatMap(({ line, email, id, error, kind }) => {
    const what = `Line ${line} (${email || id}) is unknown: ${error}`
    return kind === 'again' || !settle ? [what] : [what, `  ${settle('created', line)}`]
  })
  if (count > rows.length) lines.push(`and ${count - rows.length} more; --results FILE lists them`)
  const created = rows.find(({ kind }) => kind === 'create')
  const nameless = rows.find(({ kind }) => kind === 'id')
  if (settle && created) {
    lines.push(
      'Look whether they were created. For one that was, say its id, as above. For one that was not:',
      `  ${settle('retry', created.line)}`,
      'A 409 then means that it was there. To leave it as it is:',
      `  ${settle('skip', created.line)}`,
    )
  } else if (settle && nameless) {
    lines.push('They were created: say the id of each, as above, or leave it as it is:')
    lines.push(`  ${settle('skip', nameless.line)}`)
  }
  if (rows.some(({ kind }) => kind === 'again')) {
    lines.push('Updates and assignments are sent again by the same command.')
  }
  return lines.join('\n')
}
