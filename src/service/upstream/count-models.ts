import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import { createOpenAiCompatible } from './openai-compatible.ts'
import type { UpstreamOptions } from './upstream-address.ts'

/**
 * The number of models of a model server, without a service.
 *
 * @throws Failure `unreachable` if it does not list them; as `findUpstream`; the signal's reason
 */
export async function countModels(
  options: UpstreamOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const server = await createOpenAiCompatible(options, undefined, clock)
  try {
    return (await server.listModels(signal)).length
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Failure('unreachable', error.message, { code: error.code, details: error.details })
  } finally {
    await server.close()
  }
}
