interface About {
  method: string
  /** Contains no secret. */
  url: string
  /** 1 for the first attempt. */
  attempt: number
}

/**
 * What a client does, as it does it, for logs and for lines such as "rate limited, waiting 12 s". No
 * event contains a credential. Times are in milliseconds.
 */
export type ClientEvent = About &
  (
    | { type: 'request' }
    /** The connection is open and the request leaves: from here on the service may act on it. */
    | { type: 'sent' }
    | {
        type: 'response'
        status: number
        statusText: string
        /** The headers about rate limits, and `date`. Names are lower case. */
        limits: Record<string, string>
        elapsed: number
        requestId?: string | undefined
        /** When the credential of the request ends, ISO 8601 UTC, if the service tells it. */
        credentialExpiresAt?: string | undefined
      }
    | { type: 'redirect'; status: number; to: string }
    /** The same request again after `after`, because of `reason`: a status or a network error in words. */
    | { type: 'retry'; after: number; reason: string }
    /** Rate limited: the same request again after `after`. */
    | { type: 'wait'; after: number; status: number }
  )
