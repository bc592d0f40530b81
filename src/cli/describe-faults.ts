import type { Fault } from '../contract/faults.ts'

/** One line for all of them; the elements of a list that share a fault are named once. */
export function describeFaults(faults: readonly Fault[]): string {
  const words = faults.map(
    ({ path, message }) => `${path.replace(/\b\d+\b/g, '*') || 'the response'} ${message}`,
  )
  const distinct = [...new Set(words)]
  const shown = distinct.slice(0, 5).join('; ')
  const more = distinct.length > 5 ? `; and ${distinct.length - 5} more` : ''
  return `The response does not match the documented API: ${shown}${more}`
}
