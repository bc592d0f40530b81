import type { ApiResponse } from '../client/response.ts'
import type { Settings } from '../contract/settings.ts'
import type { LockOptions } from '../plan/apply/settings-lock.ts'
import type { Context } from './create-context.ts'
import { describeFaults } from './describe-faults.ts'

/** What a plan is bound to: origin and path of the service, `local` for the embedded one. */
export function serviceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? 'local'
}

/** What a person is told while another chatctl changes the settings of the same service. */
export function lockingFor({ directories, output, signal }: Context): LockOptions {
  return {
    directories,
    signal,
    onWait: () => output.progress('Waiting for another chatctl process that is changing these settings…'),
    warn: (words) => output.warn(words),
  }
}

/** The settings in an answer; what is odd about it is said. */
export async function settingsIn(answer: ApiResponse<Settings>, context: Context): Promise<Settings> {
  if (answer.faults.length > 0) await context.output.warn(describeFaults(answer.faults))
  if (answer.warning) await context.output.warn(answer.warning)
  return answer.body ?? {}
}
