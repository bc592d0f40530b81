import { countOf } from '../view/count.ts'
import { type Comparison, differenceView } from '../view/settings-plan.ts'
import type { Context } from './create-context.ts'
import { serviceOf } from './plan-service.ts'

/** Shows what would change, and asks unless that was agreed to; under `--dry-run` neither. */
export async function agreeToPlan(
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
