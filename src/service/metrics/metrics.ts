import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { ModelRequest, ReplyPart, ReplySource } from '../replies/reply-source.ts'
import type { Metrics, ModelServerOperation, ModelServerOutcome } from './create-metrics.ts'

/** Wraps a source of replies to count its requests. */
export function observeReplySource(replySource: ReplySource, metrics: Metrics, clock: Clock): ReplySource {
  const timed = async <T>(operation: ModelServerOperation, signal: AbortSignal, work: Promise<T>) => {
    const startedAt = clock.monotonic()
    let outcome: ModelServerOutcome = 'ok'
    try {
      return await work
    } catch (error) {
      outcome = outcomeOf(error, signal)
      throw error
    } finally {
      metrics.observeModelServer(operation, outcome, since(startedAt, clock))
    }
  }
  return {
    defaultModel: (signal) => replySource.defaultModel(signal),
    listModels: (signal) => timed('models', signal, replySource.listModels(signal)),
    async complete(modelRequest, signal) {
      const result = await timed('completion', signal, replySource.complete(modelRequest, signal))
      metrics.countTokens(result.usage.prompt_tokens, result.usage.completion_tokens)
      return result
    },
    stream: (modelRequest, signal) => observeStream({ replySource, metrics, clock }, modelRequest, signal),
    reload: () => replySource.reload(),
    close: () => replySource.close(),
  }
}

async function* observeStream(
  { replySource, metrics, clock }: { replySource: ReplySource; metrics: Metrics; clock: Clock },
  modelRequest: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyPart> {
  const startedAt = clock.monotonic()
  // If the caller stops early, neither `finish` nor an error arrives here.
  let outcome: ModelServerOutcome = 'cancelled'
  let pieces = 0
  try {
    for await (const piece of replySource.stream(modelRequest, signal)) {
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
    metrics.observeModelServer('stream', outcome, since(startedAt, clock))
  }
}

const since = (startedAt: number, clock: Clock) => (clock.monotonic() - startedAt) / 1000

function outcomeOf(error: unknown, signal: AbortSignal): ModelServerOutcome {
  if (signal.aborted) return 'cancelled'
  return error instanceof ApiError && error.code === 'model_server_timeout' ? 'timeout' : 'error'
}
