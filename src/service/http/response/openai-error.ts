import { type ApiError, type ApiErrorCode, statusOf } from '../../api-error.ts'
import { errorResponse, type ResponseHeaders } from '../service-request.ts'

/** The codes of OpenAI that its clients compare with. Other codes are those of the interface. */
const codes: Partial<Record<ApiErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  rate_limited: 'rate_limit_exceeded',
  context_too_long: 'context_length_exceeded',
}

/** SDKs send a request three times if they get a 5xx. A client would take the others for its own key or request. */
function openAiStatusOf(apiError: ApiError): number {
  const given = Number(apiError.details?.['model_server_status'])
  const isKept = given > 400 && given < 500 && ![401, 403, 407, 408, 422].includes(given)
  return isKept && apiError.code === 'model_server_error' ? given : statusOf(apiError)
}

export const openAiErrorResponse = (apiError: ApiError, headers: ResponseHeaders) =>
  errorResponse(apiError, headers, openAiErrorBodyOf(apiError), openAiStatusOf(apiError))

/** The error body of OpenAI's API. It has no `details`, so its message has what a model server said. */
export function openAiErrorBodyOf(apiError: ApiError): object {
  const { code, message, details = {} } = apiError
  const status = openAiStatusOf(apiError)
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
