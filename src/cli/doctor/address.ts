import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok } from './finding.ts'

/** @throws Failure where nothing, or more than one thing, says which service is meant */
export function examineAddress({ context }: DoctorContext): Examined[] {
  const target = context.target()
  if (target.kind === 'remote') {
    return [ok('address', `${target.baseUrl}, from ${context.options.base_url.from}`)]
  }
  const why = target.named ? `${context.options.profile.from} selects it` : 'no profile or base URL is set'
  return [ok('address', `the embedded service: ${why}`)]
}
