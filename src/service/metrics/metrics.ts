import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { ReplySource, TextPart, TokenCounts } from '../replies/reply-source.ts'
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
  async function* observeParts<Part extends TextPart | { usage?: TokenCounts | undefined }>(
    parts: AsyncIterable<Part>,
    operation: ModelServerOperation,
    signal: AbortSignal,
  ): AsyncGenerator<Part> {
    const startedAt = clock.monotonic()
    // If the caller stops early, neither the end nor an error arrives here.
    let outcome: ModelServerOutcome = 'cancelled'
    let hasBegun = operation !== 'stream'
    let usage: TokenCounts | undefined
    try {
      for await (const part of parts) {
        if (!hasBegun) metrics.observeFirstPart(since(startedAt, clock))
        hasBegun = true
        if ('usage' in part && part.usage) usage = part.usage
        yield part
      }
      outcome = 'ok'
      if (usage) metrics.countTokens(usage.prompt_tokens, usage.completion_tokens)
    } catch (error) {
      outcome = outcomeOf(error, signal)
      throw error
    } finally {
      metrics.observeModelServer(operation, outcome, since(startedAt, clock))
    }
  }
  const { relay } = replySource
  return {
    defaultModel: (signal) => replySource.defaultModel(signal),
    listModels: (signal) => timed('models', signal, replySource.listModels(signal)),
    async complete(modelRequest, signal) {
      const result = await timed('completion', signal, replySource.complete(modelRequest, signal))
      metrics.countTokens(result.usage.prompt_tokens, result.usage.completion_tokens)
      return result
    },
    stream: (modelRequest, signal) =>
      observeParts(replySource.stream(modelRequest, signal), 'stream', signal),
    relay:
      relay &&
      ((request, signal) =>
        observeParts(relay(request, signal), request.body['stream'] ? 'stream' : 'completion', signal)),
    reload: () => replySource.reload(),
    close: () => replySource.close(),
  }
}

const since = (startedAt: number, clock: Clock) => (clock.monotonic() - startedAt) / 1000

function outcomeOf(error: unknown, signal: AbortSignal): ModelServerOutcome {
  if (signal.aborted) return 'cancelled'
  return error instanceof ApiError && error.code === 'model_server_timeout' ? 'timeout' : 'error'
}
