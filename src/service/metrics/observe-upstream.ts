import { Refusal } from '../domain/refusal.ts'
import type { Order, Piece, Upstream } from '../upstream/upstream.ts'
import type { Metrics, UpstreamOperation, UpstreamOutcome } from './metrics.ts'

/** The same upstream, with all that it is asked counted. */
export function observeUpstream(upstream: Upstream, metrics: Metrics): Upstream {
  const timed = async <T>(operation: UpstreamOperation, signal: AbortSignal, work: Promise<T>) => {
    const begun = performance.now()
    let outcome: UpstreamOutcome = 'ok'
    try {
      return await work
    } catch (error) {
      outcome = outcomeOf(error, signal)
      throw error
    } finally {
      metrics.observeUpstream(operation, outcome, since(begun))
    }
  }
  return {
    defaultModel: (signal) => upstream.defaultModel(signal),
    listModels: (signal) => timed('models', signal, upstream.listModels(signal)),
    async complete(order, signal) {
      const result = await timed('completion', signal, upstream.complete(order, signal))
      metrics.countTokens(result.usage.prompt_tokens, result.usage.completion_tokens)
      return result
    },
    stream: (order, signal) => observeStream(upstream, metrics, order, signal),
    close: () => upstream.close(),
  }
}

async function* observeStream(
  upstream: Upstream,
  metrics: Metrics,
  order: Order,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const begun = performance.now()
  // What is left early, by whoever reads it, never says so here.
  let outcome: UpstreamOutcome = 'cancelled'
  let pieces = 0
  try {
    for await (const piece of upstream.stream(order, signal)) {
      if (pieces++ === 0) metrics.observeFirstPiece(since(begun))
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
    metrics.observeUpstream('stream', outcome, since(begun))
  }
}

const since = (begun: number) => (performance.now() - begun) / 1000

function outcomeOf(error: unknown, signal: AbortSignal): UpstreamOutcome {
  if (signal.aborted) return 'cancelled'
  return error instanceof Refusal && error.code === 'upstream_timeout' ? 'timeout' : 'error'
}
