import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { ModelRequest, ReplyPart, Upstream } from '../upstream/upstream.ts'
import type { Metrics, UpstreamOperation, UpstreamOutcome } from './create-metrics.ts'

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
