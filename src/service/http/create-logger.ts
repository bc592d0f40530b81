import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'

/** Takes what is logged in words, where a person reads it: of warnings and errors, what went wrong. */
type PlainLogger = (severity: 'warning' | 'error', text: string) => void

export interface LogOptions {
  level: string
  tell?: PlainLogger | undefined
  /** Takes the lines in place of descriptor 2. */
  stderr?: { write(line: string): void } | undefined
}

/**
 * JSON lines on stderr, or words for `tell`. Each line names a request by id, method, path, status
 * and the id of its key: never a header, a query or a body, which hold keys, passwords and what
 * people write.
 */
export function createLogger({ level, tell, stderr }: LogOptions): FastifyBaseLogger {
  const options = { level, base: null, serializers: { err: serializeError } }
  const destination = tell ? { write: (line: string) => writePlain(line, tell) } : (stderr ?? openStderr())
  return pino(options, destination) as FastifyBaseLogger
}

/** A full disk below stderr ends no request and no service. Lines wait for room up to 1 MiB, then they are dropped. */
function openStderr(): ReturnType<typeof pino.destination> {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: 1024 * 1024 })
  stderr.on('error', () => {})
  return stderr
}

/** pino's own serializer copies every property of an error; some libraries put requests there. */
function serializeError(error: Error & { code?: unknown }): object {
  const { name, message, code, stack } = error
  return { name, message, code, stack }
}

function writePlain(line: string, tell: PlainLogger): void {
  const { level, msg, err } = JSON.parse(line) as { level: number; msg?: string; err?: { message: string } }
  const words = [msg, err?.message].filter((text, index, all) => text && all.indexOf(text) === index)
  tell(level >= 50 ? 'error' : 'warning', words.join(': '))
}
