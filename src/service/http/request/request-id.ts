import type { IncomingHttpHeaders } from 'node:http'
import { createId } from '../../domain/identifiers.ts'

/** Characters that are safe in a header, a log line, and a database. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** The client's `x-request-id`, so that the logs of both use the same id, or a new one. */
export function requestIdFor(headers: Readonly<IncomingHttpHeaders>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && requestIdPattern.test(given) ? given : createId('req')
}
