/** What applies to a request unless a caller or a user says otherwise. Times are in milliseconds. */
export const requestDefaults = {
  timeout: 60_000,
  /** Of a reply of a model that is not streamed, which arrives only when the model has finished it. */
  replyTimeout: 600_000,
  retries: 2,
  maxWait: 60_000,
} as const
