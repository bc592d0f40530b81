import type { Answer } from '../client/answer.ts'
import type { Settings } from '../contract/settings.ts'
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
