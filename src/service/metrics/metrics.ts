import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { ModelRequest, ReplyPart, Upstream } from '../upstream/upstream.ts'

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
  countError(code: string): void
  /** A request was held to the limits of its key: admitted, or refused for the window that was spent. */
  countLimiterDecision(outcome: 'admitted' | 'hour' | 'minute'): void
  /** One conversation with the model server has ended, after so many seconds. */
  observeUpstream(operation: UpstreamOperation, outcome: UpstreamOutcome, seconds: number): void
  /** The first piece of a streamed answer came after so many seconds. */
  observeFirstPart(seconds: number): void
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

type UpstreamOperation = 'models' | 'completion' | 'stream'

/** `cancelled`: the client went away, or the service stops. */
type UpstreamOutcome = 'ok' | 'error' | 'timeout' | 'cancelled'

/** The same upstream, with all that it is asked counted. */
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
    close: () => upstream.close(),
  }
}

async function* observeStream(
  { upstream, metrics, clock }: { upstream: Upstream; metrics: Metrics; clock: Clock },
  modelRequest: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyPart> {
  const startedAt = clock.monotonic()
  // What is left early, by whoever reads it, never says so here.
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
