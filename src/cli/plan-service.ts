import type { Answer } from '../client/answer.ts'
import type { Settings } from '../contract/settings.ts'
import { countOf } from '../view/count.ts'
import { type Comparison, differenceView } from '../view/settings-plan.ts'
import type { Context } from './create-context.ts'
import { describeFaults } from './describe-faults.ts'

/** What a plan is bound to: origin and path of the service, `local` for the embedded one. */
export function serviceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? 'local'
}

/** The settings in an answer; what is odd about it is said. */
export async function settingsIn(answer: Answer<Settings>, context: Context): Promise<Settings> {
  if (answer.faults.length > 0) await context.output.warn(describeFaults(answer.faults))
  if (answer.warning) await context.output.warn(answer.warning)
  return answer.body ?? {}
}

/** Shows what would change, and asks unless that was agreed to; under `--dry-run` neither. */
export async function agreeTo(
  plan: { changes: readonly unknown[] } & Comparison,
  isAgreed: boolean,
  context: Context,
): Promise<void> {
  if (context.dryRun) return
  const isAsked = !isAgreed && context.prompter.canAsk
  await context.output.showAside(differenceView(plan), plan, isAsked)
  if (isAgreed) return
  const service = serviceOf(context)
  const changes = countOf(plan.changes.length, 'change')
  const to = service === 'local' ? 'the embedded service' : service
  await context.prompter.confirm(`Apply ${changes} to ${to}?`)
}
