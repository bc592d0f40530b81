import type { ApiConfiguration } from '../../contract/api-configuration.ts'
import { leavesOf } from '../leaves.ts'
import { makePlan } from '../plan.ts'
import { type PrintedChange, resultOf } from '../plan-result.ts'
import type { SentConfiguration } from './sent-configuration.ts'

/** What one configuration says otherwise than the one sent before it. */
export interface SentDifference {
  sentAt: string
  changes: PrintedChange[]
  /** Paths, `api.` before each, that were sent then and are not now: what becomes of them is the service's choice. */
  left: string[]
}

export function compareSent(before: SentConfiguration, configuration: ApiConfiguration): SentDifference {
  const plan = makePlan('', { settings: {}, api: configuration }, {}, before)
  const named = leavesOf(configuration)
  return {
    sentAt: before.sentAt,
    changes: resultOf(plan).changes,
    left: [...leavesOf(before.configuration).keys()]
      .filter((path) => !named.has(path))
      .map((path) => `api.${path}`),
  }
}
