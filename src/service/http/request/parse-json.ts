import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mayHoldExactNumbers, parseJson } from '../../../contract/exact-json.ts'
import { invalidRequest, Refusal } from '../../domain/refusal.ts'
import { exceededBound } from './json-shape.ts'
import type { RequestMemory } from './request-memory.ts'

/** The body itself, and 100 levels of arrays and objects inside of it. A conversation has 4 values a message. */
const bounds = { depth: 101, values: 50_000 }

const faults = {
  depth: 'must not be nested more than 100 deep',
  values: 'must not have more than 50,000 values',
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Takes JSON bodies and no others. They must be UTF-8 (RFC 8259 section 8.1): bytes that were
 * replaced would be stored as if they had been meant. Whether there must be a body is left to
 * validation. Fastify's own parser also refuses a key `__proto__`.
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
      return done(new Refusal('unsupported_media_type', `The body must not be compressed (${coding})`))
    }
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
      return done(
        new Refusal('unsupported_media_type', `JSON is UTF-8, not ${charset} (RFC 8259 section 8.1)`),
      )
    }
    if (body.length === 0) return done(null, undefined)
    const exceeded = exceededBound(body, bounds)
    if (exceeded) return done(invalidRequest([{ path: '', message: faults[exceeded] }]))
    let text: string
    try {
      text = utf8.decode(body)
    } catch {
      return done(invalidRequest([{ path: '', message: 'is not UTF-8' }]))
    }
    // The parser's words quote the body, which may hold a password that ends up in somebody's log.
    parse(request, text, (error, value) =>
      error
        ? done(invalidRequest([{ path: '', message: 'is not valid JSON' }]))
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
