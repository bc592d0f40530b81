import { nearest } from '../../contract/nearest-word.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, warning } from './finding.ts'

/** Set by src/boot/main.ts itself. */
const internal = 'CHATCTL_DISABLE_THEME'

/** Warns about misspelled variables. Values are not shown, because they may be secrets. */
export function examineEnvironment({ env, knownVariables }: DoctorContext): Examined[] {
  const ours = Object.keys(env).filter(
    (name) => name.startsWith('CHATCTL_') && name !== internal && env[name] !== '',
  )
  const slips = ours.flatMap((name) => {
    const meant = knownVariables.includes(name) ? undefined : nearest(name, knownVariables)
    return meant === undefined
      ? []
      : [
          warning(
            'environment',
            `${name} is not a variable of chatctl`,
            `Did you mean ${meant}? Otherwise: unset ${name}`,
          ),
        ]
  })
  if (slips.length > 0) return slips
  const set = ours.filter((name) => knownVariables.includes(name)).sort()
  return [ok('environment', set.length === 0 ? 'no CHATCTL_ variable is set' : `set: ${set.join(', ')}`)]
}
