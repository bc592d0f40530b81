import type { Dispatcher } from 'undici'
import { Refusal } from '../domain/refusal.ts'

const timeouts = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** What a caller is told of a failure between the service and its model server. */
export function toRefusal(error: unknown, signal: AbortSignal, shownAs: string | undefined): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof Refusal) return error
  const server = shownAs === undefined ? 'the model server' : `the model server at ${shownAs}`
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code && timeouts.has(code)) {
    return new Refusal('upstream_timeout', `${capital(server)} did not answer in time`, { cause: error })
  }
  const why = code ? ` (${code})` : ''
  return new Refusal('upstream_error', `${capital(server)} cannot be reached or broke off${why}`, {
    cause: error,
  })
}

/** The most that is read of an error's body, in characters, and for how long, in ms. */
const maxErrorBody = 64 * 1024
const maxErrorTime = 2_000

/** An answer whose status is not 2xx. Reading its body to the end frees the connection; a long one is dropped. */
export async function refuseStatus(
  { statusCode, body }: Dispatcher.ResponseData,
  model: string | undefined,
): Promise<Refusal> {
  let text = ''
  const timer = setTimeout(() => body.destroy(), maxErrorTime)
  try {
    for await (const chunk of body) {
      text += String(chunk)
      if (text.length >= maxErrorBody) break
    }
  } catch {
    // The status alone says that the request failed.
  } finally {
    clearTimeout(timer)
  }
  const message = messageOf(text)
  if (statusCode === 404 && model !== undefined) {
    return new Refusal('model_not_found', `There is no model ${model}`)
  }
  return new Refusal('upstream_error', `The model server answered ${statusCode}`, {
    details: { upstream_status: statusCode, ...(message !== undefined && { upstream_message: message }) },
  })
}

export const unusable = (what: string, cause?: unknown): Refusal =>
  new Refusal('upstream_error', `The model server ${what}`, { cause })

/** `{"error":{"message"}}` as OpenAI has it, or `{"error":"…"}` as Ollama has. */
export function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text)
    const message = typeof error === 'string' ? error : error?.message
    return typeof message === 'string' ? message.slice(0, 1000) : undefined
  } catch {
    return undefined
  }
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
