import type { Failure } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import type { Change } from '../plan.ts'

/** A change whose request failed, although the settings are as wanted. */
export function describeDoubt(failure: Failure): string {
  const answer = failure.status === undefined ? failure.message : `it was answered ${failure.status}`
  return `The settings are as wanted, although the request for the change failed: ${answer}`
}

/** What changed without having been asked for. */
export function describeSideEffect(changes: readonly Change[]): string {
  const words = changes.map(
    ({ path, from, to }) => `${path} has changed from ${visibleJson(from)} to ${visibleJson(to)}`,
  )
  return `Changed alongside, although nobody named it: ${words.join('; ')}`
}
