/** What applies to a request unless a caller or a user says otherwise. Times are in milliseconds. */
export const requestDefaults = {
  timeout: 60_000,
  /** Of a reply of a model that is not streamed, which arrives only when the model has finished it. */
  replyTimeout: 600_000,
  retries: 2,
  maxWait: 60_000,
} as const

/** Pauses in ms before a change is read back again, because a service may show the value before it for a time: 10 s. */
export const readBackPauses = [500, 1_000, 2_000, 3_000, 3_500] as const
