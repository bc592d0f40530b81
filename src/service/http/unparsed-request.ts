import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { ApiError, errorBodyOf, statusOf } from '../api-error.ts'
import { createId } from '../domain/identifiers.ts'

/** Maximum size of the request line and the headers, in bytes. */
export const maxHeaderSize = 16 * 1024

/** The error for a code of Node's HTTP parser: the bytes are not an HTTP request. */
function parserError(code: string | undefined): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('header_too_large', 'The headers are larger than 16 KiB')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time')
    default:
      return new ApiError('invalid_request', 'Invalid HTTP request')
  }
}

/**
 * Responds to bytes that are not an HTTP request, or to a request that did not arrive in time.
 * @returns whether the response could be written
 */
export function respondToUnparsed(
  error: Error & { code?: string },
  socket: Socket,
  logger: FastifyBaseLogger | undefined,
): boolean {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return false
  }
  const apiError = parserError(error.code)
  const status = statusOf(apiError)
  const id = createId('req')
  logger?.info({ request: id, status }, 'response sent')
  const body = JSON.stringify(errorBodyOf(apiError))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`,
  )
  return true
}
