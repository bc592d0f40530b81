import { Failure } from '../contract/failure.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import {
  composePlan,
  isApplied,
  misfitOf,
  newHeader,
  type PlanHeader,
  type PlanKind,
  readPlan,
} from '../system/files/saved-plan.ts'
import type { SealKey } from '../system/files/sealed-plan.ts'
import type { SettingsSource } from './file/read-settings-files.ts'
import { type Part, type Plan, parts } from './plan.ts'

/** A saved plan. */
export interface PlanFile extends PlanHeader {
  serial?: string
  plan: Plan
}

/** What a plan file is checked against. */
export interface PlanContext {
  directories: Directories
  service: string
  toolVersion: string
  now: number
  /** Whether a new plan will be made from it, so that it may be of another version or already applied. */
  refresh?: boolean
  /** The part to apply (default: both). */
  only?: Part | undefined
}

export const settingsPlan: PlanKind = { format: 'chatctl-plan', newPlan: { code: 'save_new_plan' } }

/** The text of a plan file. */
export function composePlanFile(plan: Plan, tool: string, clock: Clock, validFor?: number): string {
  const { service, serial, ...parts } = plan
  const header = newHeader({ tool, service, serial }, clock, validFor)
  return composePlan(settingsPlan, { ...header, plan: parts }, 2)
}

/** Reads a plan to show it. @throws Failure as `readPlan` */
export function readPlanFile(source: SettingsSource, toolVersion: string, key?: SealKey): PlanFile {
  const saved = readPlan<PlanFile>(source, settingsPlan, toolVersion, key, ({ plan: { api } }) =>
    api ? [api.sentAt ?? api.comparedAt, api.comparedAt] : [],
  )
  const { service, serial } = saved
  return { ...saved, plan: { ...saved.plan, service, ...(serial !== undefined && { serial }) } }
}

/**
 * @param name of the file
 * @returns why the plan cannot be applied; undefined if it can
 */
export function refusalOf(saved: PlanFile, name: string, about: PlanContext): Failure | undefined {
  const { refresh, directories, only } = about
  const toolVersion = refresh ? saved.tool : about.toolVersion
  const misfit = misfitOf(name, saved, { ...about, toolVersion }, settingsPlan)
  if (misfit || refresh) return misfit
  const isWhole = isApplied(directories, saved.id)
  const applied = only === undefined ? parts : [only]
  if (!isWhole && !applied.some((part) => isApplied(directories, saved.id, part))) return undefined
  const inPart = isWhole || only !== undefined ? '' : ' in part'
  const advice = [settingsPlan.newPlan]
  return new Failure('conflict', `The plan ${name} was already sent${inPart}`, { advice })
}
