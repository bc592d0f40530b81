import { usualWindow } from '../../config/quota.ts'
import type { KnownQuota } from './known-quota.ts'

/**
 * How long so many requests will take, in milliseconds, the pauses for the quota among it.
 * @param what.perSecond requests that the service answers where nothing holds them back
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
  // At this rate the window is over before its quota is.
  const first = sending(now) > reset ? Math.floor((reset * perSecond) / 1000) : now
  const { limit } = quota
  const left = requests - first
  if (limit === undefined || limit < 1 || sending(limit) > window) return reset + sending(left)
  const pauses = Math.ceil(left / limit) - 1
  return reset + pauses * window + sending(left - pauses * limit)
}
