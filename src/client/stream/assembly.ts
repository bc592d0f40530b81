import { type FailedRequest, Failure, type FailureKind } from '../../contract/failure.ts'
import { CountingDecoder } from '../../contract/notation/utf8-text.ts'
import type { StreamEnd, StreamEvent, StreamFormat } from '../../contract/resources/stream-event.ts'
import { type DetectedFormat, FormatDetector, isJson, isJsonLines } from './detect-format.ts'
import { EventStreamDecoder, readValue } from './event-stream-decoder.ts'
import {
  type Decoder,
  type Frame,
  isDamagedFrame,
  readFrame,
  readTextFrame,
  type StreamUnit,
} from './frame.ts'
import { GrowingText } from './growing-text.ts'
import { JsonValues } from './json-values.ts'

interface About {
  contentType: string
  /** The format of the stream, which overrides its content type. */
  format?: StreamFormat | undefined
  status: number
  request: FailedRequest
}

/**
 * Assembles a streamed reply: bytes in, events out. How the bytes are split only affects how the text is
 * split.
 */
export class Assembly {
  /** Whether the service has ended the reply. After `soon`, other frames may follow; after `now`, none. */
  ended: 'no' | 'soon' | 'now' = 'no'
  readonly #about: About
  readonly #utf8 = new CountingDecoder()
  readonly #text = new GrowingText()
  readonly #reasoning = new GrowingText()
  /** The text before the format was detected. */
  #beginning = ''
  readonly #detector: FormatDetector
  #format: DetectedFormat | undefined
  #decoder: Decoder | undefined
  #started = false
  #seen: { id?: string; contextId?: string; createdAt?: string; model?: string; finishReason?: string } = {}
  /** Number of frames that are JSON objects. A stream of these has a final event. */
  #objects = 0
  /** Whether one of them contained a part of the reply. */
  #framed = false
  /** The last event, if it was plain text without a name. */
  #plain: string | undefined
  /** The parts of the reply that were events of plain text. */
  readonly #texts: string[] = []
  #unreadable = false
  /** Whether a frame could not be read and others came after it. */
  #gap = false
  #reportedError: Frame['error']
  #last: Frame = {}

  constructor(about: About) {
    this.#about = about
    this.#detector = new FormatDetector(about.contentType, about.format)
  }

  /** Processes the next bytes. */
  push(bytes: Uint8Array): StreamEvent[] {
    return this.#pushText(this.#utf8.decode(bytes), false)
  }

  /**
   * Ends the stream. The last event is `end`.
   *
   * @param interruption why the stream ended early
   */
  end(interruption?: { reason: string; cause?: unknown }): StreamEvent[] {
    const events: StreamEvent[] = []
    if (this.ended !== 'now') {
      events.push(...this.#pushText(interruption ? '' : this.#utf8.decode(), true))
      events.push(...this.#read(this.#decoder?.end() ?? []))
    }
    events.push(...this.#endReasoning())
    const rest = this.#text.finish(this.#last.ends !== undefined && (this.#last.text ?? '') !== '')
    if (rest !== '') events.push({ type: 'delta', text: rest })
    if (!this.#started) events.unshift(this.#start())
    events.push(this.#conclude(interruption))
    return events
  }

  #pushText(text: string, ended: boolean): StreamEvent[] {
    if (this.#format !== undefined) return this.#decode(text)
    this.#beginning += text
    this.#format = this.#detector.push(text, ended)
    if (this.#format === undefined) return []
    if (this.#format === 'events')
      this.#decoder = new EventStreamDecoder((value) => hasPart(readFrame(value)))
    else if (this.#format === 'json') this.#decoder = new JsonValues()
    return this.#decode(this.#beginning)
  }

  #decode(text: string): StreamEvent[] {
    if (this.#decoder) return this.#read(this.#decoder.push(text))
    if (this.#format !== 'text' || text === '') return []
    return this.#take({ text, source: 'delta' })
  }

  #read(units: StreamUnit[]): StreamEvent[] {
    const events: StreamEvent[] = []
    for (const unit of units) {
      if (this.ended === 'now') break
      this.#gap ||= this.#unreadable
      this.#plain = undefined
      if (unit.type === 'done') this.ended = 'now'
      else if (unit.type === 'unreadable' || this.#isMisplaced(unit)) this.#unreadable = this.ended === 'no'
      else if (unit.type === 'text') events.push(...this.#take(this.#readText(unit.text, unit.event)))
      else {
        const frame = readFrame(unit.value, unit.event)
        if (typeof unit.value !== 'string') {
          this.#objects++
          this.#framed ||= hasPart(frame)
        }
        events.push(...this.#take(frame))
      }
    }
    return events
  }

  /** Whether it is plain text between frames of JSON, which cannot be placed. */
  #isMisplaced(unit: StreamUnit): boolean {
    if (unit.type !== 'text' || !this.#framed) return false
    return (readTextFrame(unit.text, unit.event).text?.trim() ?? '') !== ''
  }

  #readText(text: string, event: string | undefined): Frame {
    const frame = readTextFrame(text, event)
    if (this.#framed && frame.text !== undefined) return {}
    if (event === undefined) this.#plain = text
    if (frame.text !== undefined && frame.text !== '') this.#texts.push(frame.text)
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
      this.#reportedError = frame.error
      this.ended = 'now'
      return events
    }
    const { text, source, reasoning } = frame
    const last = frame.ends !== undefined
    if (reasoning) {
      const added = addTo(this.#reasoning, reasoning.text, reasoning.source, last)
      if (added !== '') events.push({ type: 'reasoning', text: added })
    }
    if (text !== undefined) {
      if (text !== '') events.push(...this.#endReasoning())
      const added = addTo(this.#text, text, source, last)
      if (added !== '') events.push({ type: 'delta', text: added })
    }
    if (frame.usage !== undefined) events.push({ type: 'usage', usage: frame.usage })
    if (frame.ends !== undefined && this.ended !== 'now') this.ended = frame.ends
    return events
  }

  /** Returns the reasoning that was held back. */
  #endReasoning(): StreamEvent[] {
    const text = this.#reasoning.finish(false)
    return text === '' ? [] : [{ type: 'reasoning', text }]
  }

  #start(): StreamEvent {
    this.#started = true
    const { finishReason: _, createdAt: __, ...known } = this.#seen
    return { type: 'start', ...known }
  }

  #conclude(interruption: { reason: string; cause?: unknown } | undefined): StreamEnd {
    const { model: _, ...known } = this.#seen
    const end: StreamEnd = { type: 'end', complete: true, verified: true, ...known, text: this.#text.text }
    if (!interruption && this.#isWhole()) end.isWholeBody = true
    const fault = this.#findFault(interruption)
    if (!fault) return this.#isVerified() ? end : { ...end, verified: false }
    const { kind, reason, ...more } = fault
    const { status, request } = this.#about
    const failure = new Failure(kind, reason, { status, request, ...more })
    return { ...end, complete: false, verified: false, reason, failure }
  }

  #findFault(interruption: { reason: string; cause?: unknown } | undefined): Fault | undefined {
    const reported = this.#reportedError ?? this.#readFinalError()
    if (reported) {
      const { message, ...more } = reported
      return {
        kind: 'server_error',
        reason: message ?? 'The service ended the reply with an error',
        ...more,
      }
    }
    if (this.#format === 'page') return unusable('The response is a web page')
    if (this.#format === 'noise')
      return unusable('The response is not JSON, although its Content-Type says so')
    if (this.#utf8.fault !== undefined) return truncated(this.#utf8.fault)
    if (this.#text.contradicted) return truncated('The stream contradicts text that it sent before')
    if (this.#gap || this.#isProtocol()) return truncated('The stream contains an unreadable frame')
    if (this.ended !== 'no') return undefined
    if (interruption) return { ...truncated(interruption.reason), cause: interruption.cause }
    if (this.#unreadable) return truncated('The stream was truncated within a frame')
    if (this.#isWhole()) {
      return this.#last.text === undefined ? unusable('The response contains no text') : undefined
    }
    if (this.#decoder instanceof JsonValues && this.#decoder.array === 'closed') return undefined
    if (this.#decoder instanceof JsonValues && this.#decoder.array === 'open') {
      return truncated('The stream was truncated within its array')
    }
    if (this.#objects > 0 && this.#texts.length === 0)
      return truncated('The stream ended without a final event')
    return this.#text.text === '' ? unusable('The reply is empty') : undefined
  }

  #isVerified(): boolean {
    return this.ended !== 'no' || (this.#objects > 0 && this.#texts.length === 0)
  }

  /** A stream of plain text may end with an error as JSON. Anywhere else, such text is part of the reply. */
  #readFinalError(): Frame['error'] {
    if (!this.#plain?.startsWith('{') || this.ended !== 'no') return undefined
    try {
      return readFrame(JSON.parse(this.#plain)).error
    } catch {
      return undefined
    }
  }

  /** Whether the text consists of frames, of which a damaged one prevented the detection of the format. */
  #isProtocol(): boolean {
    if (this.#about.format === 'text') return false
    const isText = this.#format === 'text'
    const [first = '', ...rest] = isText ? this.#text.text.trimStart().split('\n') : this.#texts
    const isPlausible = isText ? isDamagedFrame(first) || isFrame(first) : rest.every(startsObject)
    return isPlausible && rest.some(isFrame)
  }

  /** Whether the stream was one JSON body, which means that the service did not stream. */
  #isWhole(): boolean {
    if (!(this.#decoder instanceof JsonValues) || this.#decoder.count !== 1) return false
    if (this.#decoder.array !== 'none' || this.#objects !== 1 || this.#last.continues) return false
    const { contentType } = this.#detector
    if (isJson(contentType)) return true
    return this.#last.source === 'whole' || (!isJsonLines(contentType) && this.#last.source !== 'delta')
  }
}

/** Returns the new text. */
function addTo(whole: GrowingText, text: string, source: Frame['source'], last: boolean): string {
  return source === 'delta' ? whole.add(text) : whole.offer(text, last)
}

function hasPart({ text, reasoning }: Frame): boolean {
  return text !== undefined || reasoning !== undefined
}

function startsObject(line: string): boolean {
  return /^(data:)?\s*\{/.test(line)
}

function isFrame(line: string): boolean {
  return startsObject(line) && readFrame(readValue(line.replace(/^data:/, '').trim())).text !== undefined
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
