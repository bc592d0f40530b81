import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { ApiError, errorBodyOf, statusOf } from '../api-error.ts'
import { createId } from '../domain/identifiers.ts'
import { parserError } from './parser-error.ts'

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

/** Refuses an `Expect` other than `100-continue` (RFC 9110 section 10.1.1). Node calls no handler for it. */
export function refuseExpectation(_: IncomingMessage, response: ServerResponse): void {
  const apiError = new ApiError(
    'invalid_request',
    'The only supported value of the Expect header is 100-continue',
  )
  const body = JSON.stringify(errorBodyOf(apiError))
  response.writeHead(417, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': createId('req'),
    connection: 'close',
  })
  response.end(body)
}
