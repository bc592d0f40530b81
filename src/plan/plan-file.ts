import type { Plan } from './plan.ts'
import type { SettingsSource } from './read-settings-files.ts'

/** A plan that was saved. */
export interface PlanFile {
  id: string
  plan: Plan
}

/** What a plan file must agree with. */
export interface PlanContext {
  service: string
  toolVersion: string
  /** A new plan is made of it: another version and an earlier use are forgiven. */
  refresh?: boolean
}

export function composePlanFile(plan: Plan, toolVersion: string): string {
  return JSON.stringify({ format: 'chatctl-plan', v: 1, id: 'x', tool: toolVersion, ...plan }, null, 2)
}

export function isPlanFile(text: string): boolean {
  try {
    return JSON.parse(text)?.format === 'chatctl-plan'
  } catch {
    return false
  }
}

export function readPlanFile(source: SettingsSource, _about: PlanContext): PlanFile {
  const { id, service, settings, api } = JSON.parse(source.text)
  return { id, plan: { service, settings, ...(api ? { api } : {}) } }
}
