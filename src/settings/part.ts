import { Failure } from '../contract/failure.ts'
import type { SettingsFile } from '../contract/resources/settings-file.ts'
import type { IgnoredKeys } from '../view/settings-plan.ts'
import { leavesOf } from './leaves.ts'
import type { Plan } from './plan.ts'

/** A part of a settings file. */
export const parts = ['settings', 'api'] as const
export type Part = (typeof parts)[number]

/**
 * One part of a settings file.
 *
 * @param only undefined for both
 * @param name of the file, for the failure
 * @throws Failure `refused` if the file has no key of the part
 */
export function partOfFile(
  file: SettingsFile,
  only: Part | undefined,
  name: string,
): { file: SettingsFile; ignored?: IgnoredKeys } {
  if (only === undefined) return { file }
  const counts = { settings: leavesOf(file.settings).size, api: leavesOf(file.api).size }
  const ignored = ignoredBesides(only, counts, name)
  return { file: { settings: {}, api: {}, [only]: file[only] }, ...ignored }
}

/** The same of a plan. */
export function partOfPlan(
  plan: Plan,
  only: Part | undefined,
  name: string,
): { plan: Plan; ignored?: IgnoredKeys } {
  if (only === undefined) return { plan }
  const { service, settings, api } = plan
  const ignored = ignoredBesides(only, { settings: settings.length, api: api?.managed.length ?? 0 }, name)
  return {
    plan: only === 'settings' ? { service, settings } : { service, settings: [], ...(api && { api }) },
    ...ignored,
  }
}

function ignoredBesides(only: Part, counts: Record<Part, number>, name: string): { ignored?: IgnoredKeys } {
  const part = only === 'settings' ? 'api' : 'settings'
  if (counts[only] === 0) {
    throw new Failure('refused', `${name} contains no key of ${partNames[only]}`, {
      advice: [{ code: 'other_part', part }],
    })
  }
  return counts[part] === 0 ? {} : { ignored: { part, keys: counts[part] } }
}

const partNames: Record<Part, string> = {
  settings: 'the application settings',
  api: 'the API configuration',
}
