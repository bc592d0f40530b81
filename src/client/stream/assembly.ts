import { type FailedRequest, Failure, type FailureKind } from '../../contract/failure.ts'
import type { StreamEnd, StreamEvent, StreamFormat } from '../../contract/stream-event.ts'
import type { Complaint } from '../error-response.ts'
import { type Form, FormDetector, isJson, isJsonLines } from './detect-format.ts'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { type Frame, readFrame, readTextFrame } from './frame.ts'
import { GrowingText } from './growing-text.ts'
import { JsonValues } from './json-values.ts'
import type { Decoder, StreamUnit } from './stream-unit.ts'

interface About {
  contentType: string
  /** What it is made of, whatever its content type says and it looks like. */
  format?: StreamFormat | undefined
  status: number
  request: FailedRequest
}

/**
 * Puts a streamed reply together: bytes in, events out. Pure: what the bytes are split into
 * makes no difference to what comes out but in how many pieces.
 */
export class Assembly {
  /** Whether the service has said that the reply is finished: `now`, nothing more will come. */
  ended: 'no' | 'soon' | 'now' = 'no'
  readonly #about: About
  readonly #utf8 = new TextDecoder()
  readonly #text = new GrowingText()
  /** What came before its form was told. */
  #beginning = ''
  readonly #detector: FormDetector
  #form: Form | undefined
  #decoder: Decoder | undefined
  #started = false
  #seen: { id?: string; contextId?: string; createdAt?: string; model?: string; finishReason?: string } = {}
  /** Frames that are JSON objects: their kind of stream says when it is finished. */
  #objects = 0
  /** Whether one of them held a part of the reply. */
  #framed = false
  /** The last event, where it was bare text without a name. */
  #bare: string | undefined
  /** Whether the reply was bare text between events of another kind. */
  #hadBare = false
  #broken = false
  /** Whether a frame could not be read and others came after it. */
  #gap = false
  #complaint: Complaint | undefined
  #last: Frame = {}

  constructor(about: About) {
    this.#about = about
    this.#detector = new FormDetector(about.contentType, about.format)
  }

  /** Takes the next bytes. */
  push(bytes: Uint8Array): StreamEvent[] {
    return this.#pushText(this.#utf8.decode(bytes, { stream: true }), false)
  }

  /**
   * Takes the end; the last event is `end`.
   * @param cut what ended it, where it was no clean end
   */
  end(cut?: { reason: string; cause?: unknown }): StreamEvent[] {
    const events: StreamEvent[] = []
    if (this.ended !== 'now') {
      events.push(...this.#pushText(cut ? '' : this.#utf8.decode(), true))
      events.push(...this.#read(this.#decoder?.end() ?? []))
    }
    const rest = this.#text.finish(this.#last.ends !== undefined && (this.#last.text ?? '') !== '')
    if (rest !== '') events.push({ type: 'delta', text: rest })
    if (!this.#started) events.unshift(this.#start())
    events.push(this.#conclude(cut))
    return events
  }

  #pushText(text: string, ended: boolean): StreamEvent[] {
    if (this.#form !== undefined) return this.#decode(text)
    this.#beginning += text
    this.#form = this.#detector.push(text, ended)
    if (this.#form === undefined) return []
    if (this.#form === 'events')
      this.#decoder = new EventStreamDecoder((value) => readFrame(value).text !== undefined)
    else if (this.#form === 'json') this.#decoder = new JsonValues()
    return this.#decode(this.#beginning)
  }

  #decode(text: string): StreamEvent[] {
    if (this.#decoder) return this.#read(this.#decoder.push(text))
    if (this.#form !== 'text' || text === '') return []
    return this.#take({ text, source: 'delta' })
  }

  #read(units: StreamUnit[]): StreamEvent[] {
    const events: StreamEvent[] = []
    for (const unit of units) {
      if (this.ended === 'now') break
      this.#gap ||= this.#broken
      this.#bare = undefined
      if (unit.type === 'done') this.ended = 'now'
      else if (unit.type === 'broken') this.#broken = this.ended === 'no'
      else if (unit.type === 'text') events.push(...this.#take(this.#readText(unit.text, unit.event)))
      else {
        const frame = readFrame(unit.value, unit.event)
        if (typeof unit.value !== 'string') {
          this.#objects++
          this.#framed ||= frame.text !== undefined
        }
        events.push(...this.#take(frame))
      }
    }
    return events
  }

  /** Between frames of JSON, bare data is no part of the reply. */
  #readText(text: string, event: string | undefined): Frame {
    const frame = readTextFrame(text, event)
    if (this.#framed && frame.text !== undefined) return {}
    if (event === undefined) this.#bare = text
    this.#hadBare ||= frame.text !== undefined && frame.text !== ''
    return frame
  }

  #take(frame: Frame): StreamEvent[] {
    for (const key of ['id', 'contextId', 'createdAt', 'model', 'finishReason'] as const) {
      const value = frame[key]
      if (value !== undefined) this.#seen[key] = value
    }
    this.#last = frame
    const events: StreamEvent[] = this.#started ? [] : [this.#start()]
    if (frame.error) {
      this.#complaint = frame.error
      this.ended = 'now'
      return events
    }
    if (frame.text !== undefined) {
      const last = frame.ends !== undefined
      const text = frame.source === 'delta' ? this.#text.add(frame.text) : this.#text.offer(frame.text, last)
      if (text !== '') events.push({ type: 'delta', text })
    }
    if (frame.usage !== undefined) events.push({ type: 'usage', usage: frame.usage })
    if (frame.ends !== undefined && this.ended !== 'now') this.ended = frame.ends
    return events
  }

  #start(): StreamEvent {
    this.#started = true
    const { finishReason: _, createdAt: __, ...known } = this.#seen
    return { type: 'start', ...known }
  }

  #conclude(cut: { reason: string; cause?: unknown } | undefined): StreamEnd {
    const { model: _, ...known } = this.#seen
    const end: StreamEnd = { type: 'end', complete: true, verified: true, ...known, text: this.#text.text }
    if (!cut && this.#isWhole()) end.isWholeBody = true
    const fault = this.#findFault(cut)
    if (!fault) return this.#isVerified() ? end : { ...end, verified: false }
    const { kind, reason, ...more } = fault
    const { status, request } = this.#about
    const failure = new Failure(kind, reason, { status, request, ...more })
    return { ...end, complete: false, verified: false, reason, failure }
  }

  #findFault(cut: { reason: string; cause?: unknown } | undefined): Fault | undefined {
    const complaint = this.#complaint ?? this.#readLastWords()
    if (complaint) {
      const { message, ...more } = complaint
      return {
        kind: 'server_error',
        reason: message ?? 'The service ended the reply with an error',
        ...more,
      }
    }
    if (this.#form === 'page') return unusable('The response is a web page')
    if (this.#form === 'noise') return unusable('The response is not JSON, although its Content-Type says so')
    if (this.#text.contradicted) return truncated('The stream contradicts text that it sent before')
    if (this.#gap) return truncated('The stream contains an unreadable frame')
    if (this.ended !== 'no') return undefined
    if (cut) return { ...truncated(cut.reason), cause: cut.cause }
    if (this.#broken) return truncated('The stream was truncated within a frame')
    if (this.#isWhole()) {
      return this.#last.text === undefined ? unusable('The response contains no text') : undefined
    }
    if (this.#decoder instanceof JsonValues && this.#decoder.array === 'closed') return undefined
    if (this.#decoder instanceof JsonValues && this.#decoder.array === 'open') {
      return truncated('The stream was truncated within its array')
    }
    if (this.#objects > 0 && !this.#hadBare) return truncated('The stream ended without a final event')
    return this.#text.text === '' ? unusable('The reply is empty') : undefined
  }

  #isVerified(): boolean {
    return this.ended !== 'no' || (this.#objects > 0 && !this.#hadBare)
  }

  /** A stream of bare text may still end with an error as JSON; anywhere else it is quoted. */
  #readLastWords(): Complaint | undefined {
    if (!this.#bare?.startsWith('{') || this.ended !== 'no') return undefined
    try {
      return readFrame(JSON.parse(this.#bare)).error
    } catch {
      return undefined
    }
  }

  /** One JSON body: the service did not stream. One line of several is not the whole. */
  #isWhole(): boolean {
    if (!(this.#decoder instanceof JsonValues) || this.#decoder.count !== 1) return false
    if (this.#decoder.array !== 'none' || this.#objects !== 1 || this.#last.continues) return false
    const { contentType } = this.#detector
    if (isJson(contentType)) return true
    return this.#last.source === 'whole' || (!isJsonLines(contentType) && this.#last.source !== 'delta')
  }
}

interface Fault {
  kind: FailureKind
  reason: string
  code?: string
  details?: unknown
  cause?: unknown
}

function unusable(reason: string): Fault {
  return { kind: 'invalid_response', reason }
}

function truncated(reason: string): Fault {
  return { kind: 'truncated', reason }
}
