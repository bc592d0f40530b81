import { type ApiError, type ApiErrorCode, statusOf } from '../../api-error.ts'

/** The codes of OpenAI that its clients compare with. Other codes are those of the interface. */
const codes: Partial<Record<ApiErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  rate_limited: 'rate_limit_exceeded',
  context_too_long: 'context_length_exceeded',
}

/** The error body of OpenAI's API. It has no `details`, so its message has what a model server said. */
export function openAiErrorBodyOf(apiError: ApiError): object {
  const { code, message, details = {} } = apiError
  const status = statusOf(apiError)
  const { model_server_message: words, faults } = details
  const isKnown = typeof words !== 'string' || message.includes(words)
  return {
    error: {
      message: isKnown ? message : `${message}: ${words}`,
      type: status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error',
      param: code === 'model_not_found' ? 'model' : Object(faults)[0]?.path || null,
      code: codes[code] ?? code,
    },
  }
}
