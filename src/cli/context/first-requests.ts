import { isRecord } from '../../contract/notation/exact-json.ts'
import { dryRunRequestView, type PlannedRequest } from '../../view/dry-run.ts'
import { groupDigits } from '../../view/format/quantities.ts'
import type { View } from '../../view/format/view.ts'
import type { Context } from './context.ts'
import { HeldRequest } from './held-request.ts'

/** The first requests that a dry run did not send, without passwords. */
export function describeFirst(context: Context, first: readonly PlannedRequest[]): object[] {
  const { baseUrl } = context.contextOwner()
  return first.map(({ file, line, generatesPassword, ...request }) => {
    const { body, ...held } = new HeldRequest({ ...request, headers: {} }, baseUrl).describe()
    const password = generatesPassword ? { password: '<generated>' } : {}
    return {
      ...(file !== undefined && { file }),
      ...(line !== undefined && { line }),
      ...held,
      body: isRecord(body) ? { ...body, ...password } : body,
    }
  })
}

/** Shows the numbers of requests, and the first requests. In a table, TSV, or CSV, only the numbers are data. */
export async function showPlanned<C extends { requests: number }>(
  context: Context,
  view: View,
  counts: C,
  first: readonly PlannedRequest[],
): Promise<void> {
  const output = context.output.withoutFields()
  const first_requests = describeFirst(context, first)
  if (output.isDocument) return output.show(view, { ...counts, first_requests })
  await output.show(view, counts)
  await showFirst(context, first_requests, counts.requests)
}

/**
 * Shows the first requests on stderr.
 *
 * @param total number of requests
 */
export async function showFirst(
  context: Context,
  described: readonly object[],
  total: number,
): Promise<void> {
  if (described.length === 0) return
  const output = context.output.withoutFields()
  const which =
    described.length < total ? `first ${described.length} of ${groupDigits(total)} requests` : undefined
  output.notice(`\nThe ${which ?? (total === 1 ? 'request' : 'requests')}:\n`)
  await output.showAside(dryRunRequestView, described, false)
}
