import type { SentDifference } from '../../plan/apply/compare-sent.ts'
import { describeChange, sentView } from '../../view/settings-plan.ts'
import type { Context } from '../create-context.ts'

/** Says what an API configuration changes against what was last sent from here, since nobody can read it. */
export async function showSentDifference(difference: SentDifference, { output }: Context): Promise<void> {
  const { sentAt, changes, left } = difference
  if (output.isJson || changes.length === 0) {
    const words = changes.map(describeChange).join('; ') || 'no difference'
    output.notice(`Compared with what was last sent from here (${sentAt}): ${words}`)
  } else await output.showAside(sentView(sentAt), difference, false)
  if (left.length > 0) output.notice(`Sent then, and not this time: ${left.join(', ')}`)
}
