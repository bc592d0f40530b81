import { nameOfService } from '../contract/base-url.ts'
import type { PlanHeader } from '../system/files/saved-plan.ts'
import { pathView } from './config.ts'
import { describeAge } from './format/quantities.ts'
import { plain, type View } from './format/view.ts'

/** The origin of a saved plan, and the current time. */
export type PlanRecord = Omit<PlanHeader, 'id'> & { now: number }

/** A plan that was signed: the file of the signature, and in JSON everything that is signed. */
export const approvedPlanView: View = {
  ...pathView,
  json: plain('path service created_at made_by valid_until differences:object requests:objects'),
}

/** @param show formats the service */
export function describeRecord(
  { created_at: createdAt, tool, service, valid_until: end, now }: PlanRecord,
  show = (name: string) => name,
): string {
  const ms = now - Date.parse(createdAt)
  const age = ms >= 0 ? ` (${describeAge(ms)})` : ''
  const validity = end === undefined ? '' : ` It is valid until ${end}.`
  return `Plan for ${show(nameOfService(service))}, made ${createdAt}${age} by chatctl ${tool}.${validity} The service was not contacted, so its current values may differ.`
}
