import type { PlannedRequest, PlannedWork } from '../../bulk/planned-work.ts'
import { isRecord } from '../../contract/exact-json.ts'
import { groupDigits } from '../../view/count.ts'
import { dryRunRequestView } from '../../view/dry-run.ts'
import { importForecastView } from '../../view/import.ts'
import type { Context } from '../context.ts'
import { HeldRequest } from '../held-request.ts'

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
  const { baseUrl } = context.contextOwner()
  const first_requests = first.map((request) => describe(request, baseUrl))
  if (output.isDocument) return output.show(importForecastView, { ...counts, first_requests })
  await output.show(importForecastView, counts)
  if (first.length === 0) return
  const which = first.length < requests ? `first ${first.length} of ${groupDigits(requests)} requests` : ''
  output.notice(`\nThe ${which || (requests === 1 ? 'request' : 'requests')}:\n`)
  await output.showAside(dryRunRequestView, first_requests, false)
}

function describe({ line, generatesPassword, ...request }: PlannedRequest, baseUrl: string | undefined) {
  const { body, ...held } = new HeldRequest({ ...request, headers: {} }, baseUrl).describe()
  const password = generatesPassword ? { password: '<generated>' } : {}
  return { line, ...held, body: isRecord(body) ? { ...body, ...password } : body }
}
