import { countOf } from '../../view/count.ts'
import type { Turn } from './transcript.ts'

/**
 * What is not right with an answer: `truncated after 214 characters: the answer broke off`. Undefined
 * for one that is complete.
 */
export function describeStatus({ status, answer, reason }: Turn): string | undefined {
  if (status === 'complete') return undefined
  if (status === 'unverified') return 'unverified: the service did not say that this is all'
  const length = Array.from(answer).length
  const after = length === 0 ? '' : ` after ${countOf(length, 'character')}`
  return `${status}${after}${reason === undefined ? '' : `: ${reason}`}`
}
