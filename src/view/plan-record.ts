import { nameOfService } from '../contract/base-url.ts'
import type { Clock } from '../system/clock.ts'
import type { PlanHeader } from '../system/files/saved-plan.ts'
import { showControls } from '../terminal/strip-controls.ts'
import { pathView } from './config.ts'
import { describeAge } from './format/quantities.ts'
import { plain, type View } from './format/view.ts'

/** The origin of a saved plan, for people. */
export interface PlanRecord {
  createdAt: string
  /** As in `5 min ago`. Undefined if the time is invalid or in the future. */
  age: string | undefined
  /** Name of the service. */
  service: string
  tool: string
}

export function recordOf({ created_at: createdAt, tool, service }: PlanHeader, clock: Clock): PlanRecord {
  const ms = clock.now() - Date.parse(createdAt)
  const age = ms >= 0 ? describeAge(ms) : undefined
  return { createdAt, age, service: nameOfService(service), tool }
}

/** A plan that was signed: the file of the signature, and in JSON everything that is signed. */
export const approvedPlanView: View = {
  ...pathView,
  json: plain('path service created_at made_by differences:object requests:objects'),
}

/** @param show formats a text of the plan file, which anyone may have written */
export function describeRecord({ createdAt, age, service, tool }: PlanRecord, show = showControls): string {
  const when = age === undefined ? show(createdAt) : `${show(createdAt)} (${age})`
  return `Plan for ${show(service)}, made ${when} by chatctl ${show(tool)}. The service was not contacted, so its current values may differ.`
}
