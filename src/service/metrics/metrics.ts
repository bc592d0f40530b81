import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { ModelRequest, ReplyPart, Upstream } from '../upstream/upstream.ts'

/**
 * The metrics of the service. Each label has few values, which the service defines: never a path, a user,
 * a key, or a model, because clients choose these.
 */
export interface Metrics {
  beginRequest(): void
  endRequest(end: RequestEnd): void
  /** Bytes that are not a request. */
  countUnparsed(): void
  /** An error response, or a stream that ended in an error event, by its `error.code`. */
  countError(code: string): void
  /** The limiter admitted a request, or refused it because of the window that is used up. */
  countLimiterDecision(outcome: 'admitted' | 'hour' | 'minute'): void
  /** A request to the model server has ended. */
  observeUpstream(operation: UpstreamOperation, outcome: UpstreamOutcome, seconds: number): void
  /** The first part of a streamed reply has arrived. */
  observeFirstPart(seconds: number): void
  /** Tokens as the model server counts them. */
  countTokens(prompt: number, completion: number): void
  /** Writes all metrics in the text format of Prometheus. */
  write(): Promise<{ contentType: string; text: string }>
}

export interface RequestEnd {
  /** An endpoint of the contract, a public route such as `healthz`, or `unknown`. */
  endpoint: string
  method: string
  /** 0 if the client disconnected before the end of the response. */
  status: number
  /** From the headers of the request to the end of the response. */
  seconds: number
}

type UpstreamOperation = 'models' | 'completion' | 'stream'

/** `cancelled`: the client disconnected, or the service is stopping. */
type UpstreamOutcome = 'ok' | 'error' | 'timeout' | 'cancelled'

/** Wraps an upstream to count its requests. */
export function observeUpstream(upstream: Upstream, metrics: Metrics, clock: Clock): Upstream {
  const timed = async <T>(operation: UpstreamOperation, signal: AbortSignal, work: Promise<T>) => {
    const startedAt = clock.monotonic()
    let outcome: UpstreamOutcome = 'ok'
    try {
      return await work
    } catch (error) {
      outcome = outcomeOf(error, signal)
      throw error
    } finally {
      metrics.observeUpstream(operation, outcome, since(startedAt, clock))
    }
  }
  return {
    defaultModel: (signal) => upstream.defaultModel(signal),
    listModels: (signal) => timed('models', signal, upstream.listModels(signal)),
    async complete(modelRequest, signal) {
      const result = await timed('completion', signal, upstream.complete(modelRequest, signal))
      metrics.countTokens(result.usage.prompt_tokens, result.usage.completion_tokens)
      return result
    },
    stream: (modelRequest, signal) => observeStream({ upstream, metrics, clock }, modelRequest, signal),
    reload: () => upstream.reload(),
    close: () => upstream.close(),
  }
}

async function* observeStream(
  { upstream, metrics, clock }: { upstream: Upstream; metrics: Metrics; clock: Clock },
  modelRequest: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyPart> {
  const startedAt = clock.monotonic()
  // If the caller stops early, neither `finish` nor an error arrives here.
  let outcome: UpstreamOutcome = 'cancelled'
  let pieces = 0
  try {
    for await (const piece of upstream.stream(modelRequest, signal)) {
      if (pieces++ === 0) metrics.observeFirstPart(since(startedAt, clock))
      if (piece.kind === 'finish') {
        outcome = 'ok'
        if (piece.usage) metrics.countTokens(piece.usage.prompt_tokens, piece.usage.completion_tokens)
      }
      yield piece
    }
  } catch (error) {
    outcome = outcomeOf(error, signal)
    throw error
  } finally {
    metrics.observeUpstream('stream', outcome, since(startedAt, clock))
  }
}

const since = (startedAt: number, clock: Clock) => (clock.monotonic() - startedAt) / 1000

function outcomeOf(error: unknown, signal: AbortSignal): UpstreamOutcome {
  if (signal.aborted) return 'cancelled'
  return error instanceof ApiError && error.code === 'upstream_timeout' ? 'timeout' : 'error'
}
