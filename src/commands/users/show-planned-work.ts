import type { Context } from '../../cli/context/context.ts'
import { describeFirst, showFirst } from '../../cli/context/first-requests.ts'
import type { PlannedRequest, PlannedWork } from '../../users/planned-work.ts'
import { importForecastView } from '../../view/users.ts'

/**
 * Shows what an import would send: the numbers of requests, and the first requests. In a table, TSV, or CSV, only
 * the numbers are data.
 */
export async function showPlannedWork(
  context: Context,
  { rows, done: already_done, steps, requests }: PlannedWork,
  first: readonly PlannedRequest[],
): Promise<void> {
  const output = context.output.withoutFields()
  const { create: creates, update: updates, assign: assignments } = steps
  const counts = { rows, already_done, creates, updates, assignments, requests }
  const first_requests = describeFirst(context, first)
  if (output.isDocument) return output.show(importForecastView, { ...counts, first_requests })
  await output.show(importForecastView, counts)
  await showFirst(context, first_requests, requests)
}
