import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { PlanNote } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import type { Clock } from '../system/clock.ts'
import {
  composePlan,
  misfitOf,
  newHeader,
  type PlanHeader,
  type PlanKind,
  readPlan,
} from '../system/files/saved-plan.ts'
import type { SealKey } from '../system/files/sealed-plan.ts'
import { allowUnknownKeys, type SettingsSource } from './file/read-settings-files.ts'
import { type Part, type Plan, partOfPlan, undocumentedIn } from './plan.ts'

interface PlanFile extends PlanHeader {
  serial?: string
  plan: Plan
}

export interface PlanUse {
  toolVersion: string
  /** Whether a new plan will be made from it, so that it may be of another version or already applied. */
  refresh?: boolean
  /** The part to apply (default: both). */
  only?: Part | undefined
}

export const settingsPlan: PlanKind = {
  format: 'chatctl-plan',
  newPlan: 'Make a new plan with: chatctl settings diff FILE --save PLAN',
}

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

/** @param name of the file @returns why the plan cannot be applied; undefined if it can */
export function refusalOf(
  { directories, service, clock }: Pick<Run, 'directories' | 'service' | 'clock'>,
  saved: PlanFile,
  name: string,
  { refresh, only, ...use }: PlanUse,
): Failure | undefined {
  const toolVersion = refresh ? saved.tool : use.toolVersion
  const misfit = misfitOf(name, saved, { service, toolVersion, now: clock.now() }, settingsPlan)
  if (misfit || refresh) return misfit
  const applied = appliedParts({ directories, service }, saved.id)
  const isWhole = applied.includes(undefined)
  if (!isWhole && !applied.some((part) => only === undefined || part === only)) return undefined
  const inPart = isWhole || only !== undefined ? '' : ' in part'
  return new Failure('conflict', `The plan ${name} was already sent${inPart}`, {
    hint: settingsPlan.newPlan,
  })
}

/**
 * Reads a plan to apply it, or one part of it.
 * @throws Failure as `readPlan` and `partOfPlan`; `refused` for an undocumented setting; `conflict` if it cannot be
 *   applied
 */
export function readPlanToApply(
  run: Run,
  source: SettingsSource,
  { key, allowsUnknownKeys, ...use }: PlanUse & { key: SealKey | undefined; allowsUnknownKeys: boolean },
) {
  const { name } = source
  const saved = readPlanFile(source, use.toolVersion, key)
  const refusal = refusalOf(run, saved, name, use)
  if (refusal) throw refusal
  const { plan, ignored } = partOfPlan(saved.plan, use.only, name)
  const [unknown] = undocumentedIn(plan)
  if (unknown !== undefined && !allowsUnknownKeys) {
    const words = `${name} contains the undocumented setting ${unknown}`
    throw new Failure('refused', words, { hint: allowUnknownKeys })
  }
  // The part that this machine has applied has moved the serial.
  const isBegun = appliedParts(run, saved.id).some((part) => part !== undefined)
  return { id: saved.id, plan: isBegun ? { ...plan, serial: undefined } : plan, ignored }
}

/** The parts of a plan that were applied on their own; undefined for all of it. */
function appliedParts({ directories, service }: Pick<Run, 'directories' | 'service'>, id: string) {
  return Ledger.of(directories, service)
    .notesWith<PlanNote>('plan', id)
    .map(({ part }) => part)
}
