/** Whom a request acts as, and within which bounds. */
export interface Caller {
  /** What is counted, logged and audited: a key's id, `oauth:<user id>` for a token, or `process`. */
  keyId: string
  userId: string
  /** Whether the user and the credential both carry it, or all of it where it is a pattern (`read:*`). */
  may(permission: string): boolean
  /** Why it may not, to go on from "which": `the user of this key lacks`. */
  lacks(permission: string): string
  /** Requests per clock hour; null for no limit. */
  hourlyLimit: number | null
  /** A key that lives only in this process is held back by no limit, and nothing counts its requests. */
  isCounted: boolean
}
