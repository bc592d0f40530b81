/** What is known of a quota: `reset` and `window` are milliseconds, `reset` from now. */
export interface KnownQuota {
  limit?: number
  remaining?: number
  reset?: number
  window?: number
}

/** What two sources leave together: the lower limit with its window, and what is left by the one that leaves less. */
export function tighterOf(one: KnownQuota, other: KnownQuota): KnownQuota {
  const limits = lowerOf(one, other, 'limit')
  const left = lowerOf(one, other, 'remaining')
  return {
    ...(limits.limit !== undefined && { limit: limits.limit }),
    ...(limits.window !== undefined && { window: limits.window }),
    ...(left.remaining !== undefined && { remaining: left.remaining }),
    ...(left.reset !== undefined && { reset: left.reset }),
  }
}

function lowerOf(one: KnownQuota, other: KnownQuota, field: 'limit' | 'remaining'): KnownQuota {
  const [first = Number.POSITIVE_INFINITY, second = Number.POSITIVE_INFINITY] = [one[field], other[field]]
  return second < first ? other : one
}
