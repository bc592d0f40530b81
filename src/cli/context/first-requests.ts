import { isRecord } from '../../contract/notation/exact-json.ts'
import { firstRequestsView, type PlannedRequest } from '../../view/dry-run.ts'
import type { View } from '../../view/format/view.ts'
import type { Context } from './context.ts'
import { HeldRequest } from './held-request.ts'

/** The first requests that were not sent, without passwords, to a base URL or to the embedded service. */
export function describeFirst(first: readonly PlannedRequest[], baseUrl: string | undefined): object[] {
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
  const first_requests = describeFirst(first, context.contextOwner().baseUrl)
  if (output.isDocument) return output.show(view, { ...counts, first_requests })
  await output.show(view, counts)
  if (first.length > 0) await output.showAside(firstRequestsView(counts.requests), first_requests, false)
}
