import OpenAI from 'openai'
import type { TemporaryService } from '../temporary-service.ts'

/** The SDK of OpenAI, as a user points it at the service. It does not retry unless a test says so. */
export const connect = (
  { url, key }: Pick<TemporaryService, 'url' | 'key'>,
  options: ConstructorParameters<typeof OpenAI>[0] = {},
): OpenAI => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key, maxRetries: 0, ...options })

/** The error that the SDK throws. */
export async function failure(work: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await work
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error
    throw error
  }
  throw new Error('it did not fail')
}

/** The text of a stream, and the error that ended it. */
export async function readStream(
  opening: PromiseLike<AsyncIterable<OpenAI.ChatCompletionChunk>>,
): Promise<{ text: string; error: unknown }> {
  let text = ''
  try {
    for await (const { choices } of await opening) text += choices[0]?.delta.content ?? ''
  } catch (error) {
    return { text, error }
  }
  return { text, error: undefined }
}
