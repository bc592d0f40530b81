import { unknownVariables } from '../../cli/flags/unknown-variable.ts'
import { ownVariables } from '../../cli/help/environment-variables.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, warning } from './finding.ts'

/** Warns about misspelled variables. Values are not shown, because they may be secrets. */
export function examineEnvironment({ env }: DoctorContext): Examined[] {
  const unknown = unknownVariables(env)
  if (unknown.length > 0) return unknown.map(({ message, hint }) => warning('environment', message, hint))
  const set = ownVariables.filter((name) => (env[name] ?? '') !== '').sort()
  return [ok('environment', set.length === 0 ? 'no CHATCTL_ variable is set' : `set: ${set.join(', ')}`)]
}
