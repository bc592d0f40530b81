import type { IncomingHttpHeaders } from 'node:http'
import { createId } from '../../domain/identifiers.ts'

/** What is safe in a header, a line of a log and a database. */
const form = /^[A-Za-z0-9._-]{1,64}$/

/** The caller's own `x-request-id`, so that its logs and ours name one thing alike, or else a new one. */
export function requestIdFor(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && form.test(given) ? given : createId('req')
}
