import type { ApiResponse } from '../../client/response/response.ts'
import type { Fault } from '../../contract/faults.ts'
import type { Output } from './output.ts'

/** Warns if a response does not match the interface, or if the client has a warning about it. */
export async function warnOfResponse(
  { faults, warning }: Pick<ApiResponse<unknown>, 'faults' | 'warning'>,
  output: Output,
): Promise<void> {
  if (faults.length > 0) await output.warn(describeFaults(faults))
  if (warning) await output.warn(warning)
}

/** All faults in one line. A fault of several elements of a list is named once. */
export function describeFaults(faults: readonly Fault[]): string {
  const words = faults.map(
    ({ path, message }) => `${path.replace(/\b\d+\b/g, '*') || 'the response'} ${message}`,
  )
  const distinct = [...new Set(words)]
  const shown = distinct.slice(0, 5).join('; ')
  const more = distinct.length > 5 ? `; and ${distinct.length - 5} more` : ''
  return `The response does not match the documented interface: ${shown}${more}`
}
