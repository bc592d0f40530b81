/** Numbers of rows or users by their state. */
export interface RowCounts {
  /** Done, or compared. */
  done: number
  failed: number
  /** Rows whose outcome is unknown. */
  unknown: number
}

/** A pause of all workers. */
export interface Pause {
  /** Unix time in ms. */
  until: number
  why: 'limited' | 'quota'
}
