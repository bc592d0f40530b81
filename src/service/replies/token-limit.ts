import { ApiError } from '../api-error.ts'
import type { CompletionBody } from './reply-source.ts'

/** The same limit in the other field: newer models of OpenAI take only `max_completion_tokens`. */
export function renameLimit({ max_tokens: one, max_completion_tokens: other, ...rest }: CompletionBody) {
  return { ...rest, max_tokens: other, max_completion_tokens: one } as CompletionBody
}

/** Whether a refusal is about the field. vLLM names both if the limit is too large. */
export const isAboutField = (text: string): boolean =>
  /\buse\W+max_completion_tokens/i.test(text) ||
  (text.includes('max_completion_tokens') && !isAboutSize(text))

/** vLLM, SGLang, Bedrock, and Cohere name the tokens in words, TGI `max_new_tokens`, and Gemini `maxOutputTokens`. */
const limitNames =
  /(max|maximum)[_ ]?((completion|new|output)[_ ]?)?tokens|(output|completion) tokens|(in|for) the completion/i
const tooLarge =
  /too large|at most|exceed|maximum|(less|lower|smaller|greater) than|<=|(valid|supported) range|context (length|size|window)/i

const isAboutSize = (text: string) => limitNames.test(text) && tooLarge.test(text)

/**
 * Sends a request, with the default limit if it has none. If the model server refuses that as too large, the request is
 * sent again without it: this costs no tokens, and the model can only generate less.
 * @throws ApiError `invalid_request`, not `context_too_long`, if the client's limit exceeds the context; as `send`
 */
export async function* sendLimited<Part>(
  body: CompletionBody,
  limit: number | undefined,
  send: (body: CompletionBody) => AsyncIterable<Part>,
): AsyncGenerator<Part> {
  const own = body['max_tokens'] ?? body['max_completion_tokens']
  let hasBegun = false
  try {
    for await (const part of send(own === undefined ? { ...body, max_tokens: limit } : body)) {
      hasBegun = true
      yield part
    }
    return
  } catch (error) {
    if (hasBegun || !(error instanceof ApiError) || (own ?? limit) === undefined) throw error
    const { code, details = {} } = error
    const words = String(details['model_server_message'])
    if (!['invalid_request', 'context_too_long'].includes(code) || !isAboutSize(words)) throw error
    const [, size = '0'] = /context (?:length|size|window)\D{0,20}(\d[\d,]*)/i.exec(words) ?? []
    if (Number(own) < Number(size.replaceAll(',', ''))) throw error
    if (own !== undefined)
      throw new ApiError('invalid_request', `The model server rejected the request: ${words}`, { details })
  }
  yield* send(body)
}
