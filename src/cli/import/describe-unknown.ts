import type { Unsettled } from '../../bulk/results/report-rows.ts'
import type { RowResult } from '../../bulk/results/row-result.ts'

/** A row of which nobody knows, and what could be done about it. */
export type UnknownRow = RowResult & { decisions: Unsettled | undefined }

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
  const lines = rows.flatMap(({ line, email, id, error, decisions }) => {
    const what = `Line ${line} (${email || id}) is unknown: ${error}`
    return decisions && settle ? [what, `  ${settle('created', decisions.place)}`] : [what]
  })
  if (count > rows.length)
    lines.push(`and ${count - rows.length} more, all listed in ${list ?? '--results FILE'}`)
  const asked = rows.flatMap(({ decisions }) => decisions ?? [])
  const doubtful = asked.find(({ mayRetry }) => mayRetry)
  const [first] = asked
  if (settle && doubtful) {
    lines.push(
      'Look whether they were created. For one that was, say its id, as above. For one that was not:',
      `  ${settle('retry', doubtful.place)}`,
      'A 409 then means that it was there. To leave it as it is:',
      `  ${settle('skip', doubtful.place)}`,
    )
  } else if (settle && first) {
    lines.push('They were created: say the id of each, as above, or leave it as it is:')
    lines.push(`  ${settle('skip', first.place)}`)
  }
  if (rows.some(({ decisions }) => decisions === undefined)) {
    lines.push('Updates and assignments are sent again by the same command.')
  }
  return lines.join('\n')
}
