import type { UnresolvedRow } from '../../users/results/report-rows.ts'
import type { RowResult } from '../../users/results/row-result.ts'

/** A row whose outcome is unknown, and what can be done about it. */
export type UnknownRow = RowResult & { unresolved: UnresolvedRow | undefined }

/** The command line that resolves the row at a place. */
export type ResolvingCommand = (as: 'created' | 'retry' | 'skip', place: string) => string

/**
 * The rows whose outcome is unknown, each with the command that resolves it. Commands are on separate lines,
 * so that they can be copied.
 *
 * @param count of all such rows; `rows` may be only the first ones
 * @param resolvingCommand undefined if nothing is created
 * @param list path of the file that lists all of them
 */
export function describeUnknown(
  rows: readonly UnknownRow[],
  count: number,
  resolvingCommand: ResolvingCommand | undefined,
  list: string | undefined,
): string {
  const lines = rows.flatMap(({ line, email, id, error, unresolved }) => {
    const what = `The outcome of line ${line} (${email || id}) is unknown: ${error}`
    return unresolved && resolvingCommand
      ? [what, `  ${resolvingCommand('created', unresolved.place)}`]
      : [what]
  })
  if (count > rows.length)
    lines.push(
      `and ${count - rows.length} more; ${list === undefined ? '--results FILE lists all of them' : `all are listed in ${list}`}`,
    )
  const open = rows.flatMap(({ unresolved }) => unresolved ?? [])
  const retryable = open.find(({ mayRetry }) => mayRetry)
  const [first] = open
  if (resolvingCommand && retryable) {
    lines.push(
      'Check whether the users were created. If a user was created, give its id as above. If not, run:',
      `  ${resolvingCommand('retry', retryable.place)}`,
      'If the response is then 409, the user was created before. To skip the row, run:',
      `  ${resolvingCommand('skip', retryable.place)}`,
    )
  } else if (resolvingCommand && first) {
    lines.push('The users were created. Give the id of each as above, or skip the row:')
    lines.push(`  ${resolvingCommand('skip', first.place)}`)
  }
  if (rows.some(({ unresolved }) => unresolved === undefined)) {
    lines.push('To send updates and assignments again, run the same command.')
  }
  return lines.join('\n')
}
