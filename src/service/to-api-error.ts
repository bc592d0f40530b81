import { ApiError, type ApiErrorCode, statusOf } from './api-error.ts'
import { faultOf, type StorageFault } from './store/storage-failure.ts'

/** The error response for each fault of the storage. */
const storageErrors: Record<
  Exclude<StorageFault, 'duplicate'>,
  readonly [ApiErrorCode, string, { details?: { stored: false }; retryAfter?: number }]
> = {
  full: [
    'storage_full',
    'The service has no disk space left; the change was not stored',
    { details: { stored: false } },
  ],
  unavailable: [
    'storage_unavailable',
    'The database of the service does not respond; try again',
    { retryAfter: 1 },
  ],
  refused: [
    'storage_unavailable',
    'The database of the service cannot be used; the log of the service has the cause',
    { retryAfter: 1 },
  ],
  busy: [
    'storage_busy',
    'The database of the service is locked by another program; the change was not stored',
    { details: { stored: false } },
  ],
  damaged: ['storage_damaged', 'The database of the service is damaged; restore it from a backup', {}],
}

/** The error response for anything that was thrown while a request was handled. It reveals nothing about a bug. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const reported = error instanceof Error && 'code' in error ? error.code : undefined
  // Fastify reports this if the client disconnects before the first byte of a stream.
  if (reported === 'ERR_STREAM_PREMATURE_CLOSE') return clientDisconnected()
  // Fastify checks the syntax of this header before it calls the OAuth server. The pipeline does so itself.
  if (reported === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ApiError('unsupported_media_type', 'The Content-Type of the request is not valid')
  const fault = faultOf(error)
  if (fault !== undefined && fault !== 'duplicate') {
    const [code, message, options] = storageErrors[fault]
    return new ApiError(code, message, { ...options, cause: error })
  }
  return new ApiError('internal_error', 'Internal error of the service', { cause: error })
}

/** The error response with whether the service has stored something, unless its status already means that it has not. */
export function withStored(error: unknown, stored: boolean): ApiError {
  const apiError = toApiError(error)
  if (statusOf(apiError) < 500) return apiError
  const { code, message, details, retryAfter, cause } = apiError
  return new ApiError(code, message, { details: { ...details, stored }, retryAfter, cause })
}

/** The reason of an abort signal after the client has disconnected. No client receives it. */
export const clientDisconnected = (): ApiError => new ApiError('request_timeout', 'The client disconnected')
