import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mayHoldExactNumbers, parseJson } from '../../../contract/exact-json.ts'
import { ApiError, invalidRequest } from '../../api-error.ts'
import type { RequestMemory } from './request-memory.ts'

/** The body itself and 100 levels of arrays and objects inside it. A conversation has 4 values per message. */
const bodyLimits = { depth: 101, values: 50_000 }

const faults = {
  depth: 'must not be nested more than 100 levels deep',
  values: 'must not have more than 50,000 values',
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Accepts JSON bodies only. They must be UTF-8 (RFC 8259 section 8.1), because replacement characters
 * would be stored as if they had been sent. Validation decides whether a body is required. Fastify's
 * parser also refuses a key `__proto__`.
 */
export function acceptJson(server: FastifyInstance, memory: RequestMemory): void {
  const parse = server.getDefaultJsonParser('error', 'ignore')
  server.removeAllContentTypeParsers()
  const read = (
    request: FastifyRequest,
    body: Buffer,
    done: (error: Error | null, value?: unknown) => void,
  ) => {
    const coding = request.headers['content-encoding']
    if (coding !== undefined && coding !== 'identity') {
      return done(new ApiError('unsupported_media_type', `The body must not be compressed (${coding})`))
    }
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
      return done(
        new ApiError(
          'unsupported_media_type',
          `The JSON body must be UTF-8, not ${charset} (RFC 8259 section 8.1)`,
        ),
      )
    }
    if (body.length === 0) return done(null, undefined)
    const exceeded = exceededLimit(body, bodyLimits)
    if (exceeded) return done(invalidRequest([{ path: '', message: faults[exceeded] }]))
    let text: string
    try {
      text = utf8.decode(body)
    } catch {
      return done(invalidRequest([{ path: '', message: 'must be UTF-8' }]))
    }
    // The parser's message quotes the body, which may contain a password that would then be logged.
    parse(request, text, (error, value) =>
      error
        ? done(invalidRequest([{ path: '', message: 'must be valid JSON' }]))
        : done(null, mayHoldExactNumbers(text) ? parseJson(text) : value),
    )
  }
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (incoming, body: Buffer, done) => {
    const request = incoming as FastifyRequest
    memory.measureBody(request, body.length)
    const turn = memory.work.turn(body.length)
    if (turn) void turn.then(() => read(request, body, done))
    else read(request, body, done)
  })
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openings = new Set([0x5b, 0x7b])
const closings = new Set([0x5d, 0x7d])

/** Maximum depth of nested arrays and objects, and maximum number of all values. */
interface BodyLimits {
  depth: number
  values: number
}

/**
 * The limit that a JSON text exceeds, if any. Reads the bytes, because walking a parsed value would
 * overflow the stack if it is too deep, and block the event loop if it has too many values. For a text
 * that is not JSON, the result is meaningless.
 */
export function exceededLimit(text: Uint8Array, bounds: BodyLimits): keyof BodyLimits | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0
    if (byte === quote) {
      at = endOfString(text, at)
    } else if (byte === comma) {
      values++
    } else if (openings.has(byte)) {
      depth++
      // Counts one value also for an empty array or object, so the count is at most twice the real number.
      values++
      if (depth > bounds.depth) return 'depth'
    } else if (closings.has(byte)) {
      depth--
    }
    if (values > bounds.values) return 'values'
  }
  return undefined
}

/** The position of the closing quote, or the end of a text that has none. */
function endOfString(text: Uint8Array, opening: number): number {
  let at = opening
  for (;;) {
    at = text.indexOf(quote, at + 1)
    if (at === -1) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === backslash) escapes++
    if (escapes % 2 === 0) return at
  }
}
