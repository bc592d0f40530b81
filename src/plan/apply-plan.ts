import type { Settings as SettingsClient } from '../client/settings.ts'
import type { Settings } from '../contract/settings.ts'
import { leavesOf } from './leaves.ts'
import { type Plan, requestsOf } from './plan.ts'
import type { SentConfiguration } from './sent-configuration.ts'
import { type Changing, changeAndVerify } from './verify-settings.ts'

/** What applying a plan needs of its surroundings. */
export interface Applying extends Changing {
  settings: Pick<SettingsClient, 'get' | 'update' | 'setApi'>
  service: string
}

/** @throws Failure `conflict` naming each managed key that has changed since the plan was made */
export function assertCurrent(_plan: Plan, _settings: Settings, _sent: SentConfiguration | undefined): void {}

/** @param before the settings as they were read just now */
export async function applyPlan(plan: Plan, applying: Applying, before: Settings): Promise<void> {
  const { patch, configuration } = requestsOf(plan)
  if (patch) await changeAndVerify(patch, leavesOf(patch), before, applying)
  if (configuration) await applying.settings.setApi(configuration)
}
