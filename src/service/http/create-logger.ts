import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'

/** Receives each warning and error as text that a user can read. */
type PlainLogger = (severity: 'warning' | 'error', text: string) => void

export interface LogOptions {
  level: string
  tell?: PlainLogger | undefined
  /** Receives the lines instead of file descriptor 2, which is then a file: a pipe would block the process. */
  stderr?: { write(line: string): void } | undefined
}

/**
 * JSON lines on stderr, or text for `tell`. Each line names a request by id, method, path, status,
 * and the id of its key. It never contains a header, a query, or a body, because these contain keys,
 * passwords, and messages.
 */
export function createLogger({ level, tell, stderr }: LogOptions): FastifyBaseLogger {
  const options = { level, base: null, serializers: { err: serializeError } }
  const destination = tell ? { write: (line: string) => writePlain(line, tell) } : (stderr ?? openStderr())
  return pino(options, destination) as FastifyBaseLogger
}

/** Lines that cannot be written, as on a full disk, are buffered up to 1 MiB and then dropped: no request fails. */
function openStderr(): ReturnType<typeof pino.destination> {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: 1024 * 1024 })
  stderr.on('error', () => {})
  return stderr
}

/** pino's serializer copies every property of an error, and some libraries put requests there. */
function serializeError(error: Error & { code?: unknown }): object {
  const { name, message, code, stack } = error
  return { name, message, code, stack }
}

function writePlain(line: string, tell: PlainLogger): void {
  const { level, msg, err } = JSON.parse(line) as { level: number; msg?: string; err?: { message: string } }
  const words = [msg, err?.message].filter((text, index, all) => text && all.indexOf(text) === index)
  tell(level >= 50 ? 'error' : 'warning', words.join(': '))
}
