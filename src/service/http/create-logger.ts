import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'

/**
 * JSON lines on stderr. Each names a request by id, method, path, status and the id of its key:
 * never a header, a query or a body, which hold keys, passwords and what people write.
 */
export function createLogger(level: string): FastifyBaseLogger {
  const options = { level, base: null, serializers: { err: describe } }
  return pino(options, pino.destination({ dest: 2, sync: true })) as FastifyBaseLogger
}

/** pino's own serializer copies every property of an error; some libraries put requests there. */
function describe(error: Error & { code?: unknown }): object {
  const { name, message, code, stack } = error
  return { name, message, code, stack }
}
