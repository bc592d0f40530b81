import type { Answer } from '../client/answer.ts'
import type { ApiConfiguration } from '../contract/api-configuration.ts'

/** The API configuration that was last sent to a service from here. */
export interface SentConfiguration {
  /** ISO 8601, UTC. */
  sentAt: string
  configuration: ApiConfiguration
}

/** What was last sent to a service from here, undefined where that is not known. */
export function readSent(_service: string): SentConfiguration | undefined {
  return undefined
}

export async function sendConfiguration(
  _service: string,
  _configuration: ApiConfiguration,
  send: () => Promise<Answer<unknown>>,
  _signal: AbortSignal,
): Promise<Answer<unknown>> {
  return send()
}
