import { Failure } from '../../contract/failure.ts'
import type { UsersPlanHeader } from '../users-plan-file.ts'

/**
 * Refuses to apply a plan to another service, or with another version.
 *
 * @throws Failure `conflict`
 */
export function assertPlanFits(
  name: string,
  { service, tool }: UsersPlanHeader,
  about: { service: string; toolVersion: string },
): void {
  const shown = (one: string) => (one.startsWith('local ') ? 'the embedded service' : one)
  if (service !== about.service) {
    throw new Failure(
      'conflict',
      `The plan ${name} is for ${shown(service)}, not for ${shown(about.service)}`,
      {
        advice: [{ code: 'save_users_plan' }],
      },
    )
  }
  if (tool === about.toolVersion) return
  const words = `The plan ${name} was made by chatctl ${tool}, but this is chatctl ${about.toolVersion}`
  throw new Failure('conflict', words, { advice: [{ code: 'save_users_plan' }] })
}
