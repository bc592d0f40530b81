/**
 * What the service counts about itself. Every label has few values, all of them ours: never a path,
 * a user, a key or a model, which callers choose.
 */
export interface Metrics {
  beginRequest(): void
  endRequest(end: RequestEnd): void
  /** Bytes that were not a request. */
  countUnparsed(): void
  /** An answer with an error, by its `error.code`. */
  countRefusal(code: string): void
  /** A request was held to the limits of its key: admitted, or refused for the window that was spent. */
  countLimited(outcome: 'admitted' | 'hour' | 'minute'): void
  /** One conversation with the model server has ended, after so many seconds. */
  observeUpstream(operation: UpstreamOperation, outcome: UpstreamOutcome, seconds: number): void
  /** The first piece of a streamed answer came after so many seconds. */
  observeFirstPiece(seconds: number): void
  /** As the model server counts them. */
  countTokens(prompt: number, completion: number): void
  /** All of it in Prometheus' text format. */
  write(): Promise<{ contentType: string; text: string }>
}

export interface RequestEnd {
  /** Of the contract's table, or what else answered: `healthz`; `unknown` where nothing did. */
  endpoint: string
  method: string
  /** 0 where the client went away before the end of the answer. */
  status: number
  /** From the head of the request to the end of its answer. */
  seconds: number
}

export type UpstreamOperation = 'models' | 'completion' | 'stream'

/** `cancelled`: the client went away, or the service stops. */
export type UpstreamOutcome = 'ok' | 'error' | 'timeout' | 'cancelled'
