import { type Change, changesOf, type Plan } from './plan.ts'

/** A change as commands print it. */
export interface PrintedChange extends Change {
  /** With what `from` was found, where that is not what the service has. */
  compared_with?: 'last_sent'
}

/** What commands print of a plan. */
export function resultOf(plan: Plan): { changes: PrintedChange[] } {
  const count = changesOf({ service: plan.service, settings: plan.settings }).length
  const print = (change: Change, index: number): PrintedChange =>
    index < count ? change : { ...change, compared_with: 'last_sent' }
  return { changes: changesOf(plan).map(print) }
}

/** What a plan covers, whether it changes or not. */
export function coverageOf({ settings, api }: Plan): { managed: number; sentAt: string | null } {
  return { managed: settings.length + (api?.managed.length ?? 0), sentAt: api?.sentAt ?? null }
}
