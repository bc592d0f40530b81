/** What the state file knows about one user. */
export interface StateEntry {
  email: string
  /** Undefined while the outcome of its creation is unknown, or the response had no id. */
  id: string | undefined
  /** Set before the create is sent, removed when its outcome is known. */
  creation?: 'unknown' | 'nameless'
  /** By managed field: a hash of the value that was last sent and confirmed. */
  hashes: Readonly<Record<string, string>>
  /** ISO 8601 UTC; only written by runs with --limit-reads and by verification. */
  checkedAt?: string
}
