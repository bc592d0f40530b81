/** What is known of a quota: `reset` and `window` are milliseconds, `reset` from now. */
export interface KnownQuota {
  limit?: number
  remaining?: number
  reset?: number
  window?: number
}
