import type { FastifyBaseLogger } from 'fastify'
import { Refusal } from '../domain/refusal.ts'
import type { Upstream } from './upstream.ts'

/** Looks once whether the model server is there, so that its host hears of it before the first question does. */
export async function sayIfUnreachable(
  upstream: Upstream,
  signal: AbortSignal,
  logger: FastifyBaseLogger,
): Promise<void> {
  try {
    await upstream.listModels(signal)
  } catch (error) {
    // What else it may have against a list of models says nothing about its answers.
    if (!(error instanceof Refusal) || error.code !== 'upstream_unreachable') return
    logger.warn(`${error.message}: nothing is answered until it runs`)
  }
}
