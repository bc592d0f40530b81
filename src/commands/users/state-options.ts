import type { Context } from '../../cli/context/context.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { resolvePath } from '../../cli/host.ts'
import { Failure } from '../../contract/failure.ts'
import type { StateOptions } from '../../users/state/users-state.ts'
import { planServiceOf } from '../settings/settings-change.ts'

/** Grace period in ms, to write the next generation of a large state file after a signal. */
const grace = 60_000

/**
 * @param summary what the state file is used for, and its default
 * @param exclusive flags that do not use it
 */
export function stateFlag(summary: string, exclusive: string[] = []) {
  return textFlag({ helpValue: 'FILE', summary, exclusive })
}

/**
 * The path of a state file and the options to open it, for the service of this run.
 *
 * @param name that the user gave
 * @param results path of a file that the run writes too
 * @throws Failure `usage` if both are one file, or for a name that Windows does not allow
 */
export function stateOf(
  context: Context,
  name: string,
  access: StateOptions['access'],
  results?: string,
): [path: string, options: StateOptions] {
  const { host } = context
  const path = resolvePath(host, name)
  if (results !== undefined && context.resolvePath(results) === path) {
    throw new Failure('usage', `Cannot write the results to ${results}: it is the state file`)
  }
  host.keepHeapSmall('speed')
  if (access === 'write') host.allowGrace(grace)
  return [path, { service: planServiceOf(context), access, name }]
}
