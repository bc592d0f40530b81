import { usualWindow } from '../../config/quota.ts'
import type { KnownQuota } from './known-quota.ts'

/**
 * Estimates the duration of requests in ms, including pauses for the quota.
 *
 * @param what.perSecond rate without pauses
 */
export function estimateDuration({
  requests,
  perSecond,
  quota,
}: {
  requests: number
  perSecond: number
  quota: KnownQuota | undefined
}): number {
  if (requests <= 0) return 0
  const sending = (count: number) => (count * 1000) / perSecond
  const now = quota?.remaining ?? quota?.limit
  if (quota === undefined || now === undefined || requests <= now) return sending(requests)
  const window = quota.window ?? Math.max(usualWindow, quota.reset ?? 0)
  const reset = quota.reset ?? window
  // At a low rate, the window ends before its quota is used up.
  const first = sending(now) > reset ? Math.floor((reset * perSecond) / 1000) : now
  const { limit } = quota
  const left = requests - first
  if (limit === undefined || limit < 1 || sending(limit) > window) return reset + sending(left)
  const pauses = Math.ceil(left / limit) - 1
  return reset + pauses * window + sending(left - pauses * limit)
}
