import { ApiError } from '../api-error.ts'

/** Maximum size of the request line and the headers, in bytes. */
export const maxHeaderSize = 16 * 1024

/** The error for a code of Node's HTTP parser: the bytes are not an HTTP request. */
export function parserError(code: string | undefined): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('header_too_large', 'The headers are larger than 16 KiB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time')
    default:
      return new ApiError('invalid_request', 'Invalid HTTP request')
  }
}
