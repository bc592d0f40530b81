import type { UnresolvedRow } from '../../bulk/results/report-rows.ts'
import type { RowResult } from '../../bulk/results/row-result.ts'

/** A row of which nobody knows, and what could be done about it. */
export type UnknownRow = RowResult & { unresolved: UnresolvedRow | undefined }

/** The command line that settles the row at a place, by what is said of it. */
export type Settle = (as: 'created' | 'retry' | 'skip', place: string) => string

/**
 * Each row of which nobody knows, with the command that settles it, and what may be said in place
 * of that; commands stand on lines of their own, to be copied.
 *
 * @param count of all, where `rows` are only the first
 * @param settle absent where nothing is created
 * @param list path of the file that lists all of them, where there is one
 */
export function describeUnknown(
  rows: readonly UnknownRow[],
  count: number,
  settle: Settle | undefined,
  list: string | undefined,
): string {
  const lines = rows.flatMap(({ line, email, id, error, unresolved }) => {
    const what = `The outcome of line ${line} (${email || id}) is unknown: ${error}`
    return unresolved && settle ? [what, `  ${settle('created', unresolved.place)}`] : [what]
  })
  if (count > rows.length)
    lines.push(
      `and ${count - rows.length} more; ${list === undefined ? '--results FILE lists all of them' : `all are listed in ${list}`}`,
    )
  const asked = rows.flatMap(({ unresolved }) => unresolved ?? [])
  const doubtful = asked.find(({ mayRetry }) => mayRetry)
  const [first] = asked
  if (settle && doubtful) {
    lines.push(
      'Check whether the users were created. If a user was created, give its id as above. If not, run:',
      `  ${settle('retry', doubtful.place)}`,
      'If the response is then 409, the user was created before. To skip the row, run:',
      `  ${settle('skip', doubtful.place)}`,
    )
  } else if (settle && first) {
    lines.push('The users were created. Give the id of each as above, or skip the row:')
    lines.push(`  ${settle('skip', first.place)}`)
  }
  if (rows.some(({ unresolved }) => unresolved === undefined)) {
    lines.push('To send updates and assignments again, run the same command.')
  }
  return lines.join('\n')
}
