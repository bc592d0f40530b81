import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { type Endpoint, endpoints } from '../../contract/endpoints.ts'
import { ApiError, errorBodyOf, statusOf } from '../api-error.ts'
import { createId } from '../domain/identifiers.ts'
import { isPublicPath } from './public/public-routes.ts'

/** Refuses a request that matches no route: 405 with Allow if the path exists, otherwise 404. */
export function refuseUnmatched(request: FastifyRequest, reply: FastifyReply): never {
  const path = request.url.split('?', 1)[0] ?? ''
  const methods = methodsOf(path)
  if (methods.length === 0) throw new ApiError('not_found', `Unknown path ${path}`)
  reply.header('allow', methods.join(', '))
  throw new ApiError('method_not_allowed', `${path} supports ${methods.join(', ')}, not ${request.method}`)
}

function methodsOf(path: string): string[] {
  if (isPublicPath(path)) return ['GET', 'HEAD']
  const all: readonly Endpoint[] = Object.values(endpoints)
  const methods = all.filter((endpoint) => matches(endpoint.path, path)).map(({ method }) => method)
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

function matches(template: string, path: string): boolean {
  const wanted = template.split('/')
  const given = path.split('/')
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part === '{id}' ? given[index] !== '' : part === given[index]))
  )
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
