import { type FailedRequest, Failure, type FailureKind } from '../../contract/failure.ts'
import { CheckingDecoder, invalidUtf8 } from '../../contract/notation/text.ts'
import type { StreamEnd, StreamEvent, StreamFormat } from '../../contract/resources/stream-event.ts'
import { type Frame, readFrame, readTextFrame } from './frame.ts'
import {
  type Decoder,
  type DetectedFormat,
  decoderOf,
  detectFormat,
  type StreamUnit,
} from './stream-format.ts'

interface About {
  contentType: string
  /** The format of the stream, which overrides its content type. */
  format?: StreamFormat | undefined
  status: number
  request: FailedRequest
}

/** Why a stream ended early. */
export interface Interruption {
  reason: string
  cause?: unknown
}

interface Fault {
  kind: FailureKind
  reason: string
  code?: string
  details?: unknown
  cause?: unknown
}

/**
 * Assembles a streamed reply: bytes in, events out. How the bytes are split only affects how the text is
 * split.
 */
export class Assembly {
  /** Whether the service has ended the reply. After `soon`, other frames may follow; after `now`, none. */
  ended: 'no' | 'soon' | 'now' = 'no'
  readonly #about: About
  readonly #utf8 = new CheckingDecoder()
  readonly #text = new AssembledText()
  readonly #reasoning = new AssembledText()
  /** The text before the format was detected. */
  #beginning = ''
  #format: DetectedFormat | undefined
  #decoder: Decoder | undefined
  #started = false
  #seen: { id?: string; contextId?: string; createdAt?: string; model?: string; finishReason?: string } = {}
  /** Number of frames that are JSON objects. A stream of these has a final event. */
  #objects = 0
  /** Whether a part of the reply was plain text. */
  #hasPlainText = false
  #unreadable = false
  /** Whether a frame could not be read and others came after it. */
  #gap = false
  #reportedError: Frame['error']
  #last: Frame = {}

  constructor(about: About) {
    this.#about = about
    if (about.format !== undefined && about.format !== 'auto') this.#format = about.format
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
  end(interruption?: Interruption): StreamEvent[] {
    const events: StreamEvent[] = []
    if (this.ended !== 'now') {
      if (!interruption) events.push(...this.#pushText(this.#utf8.decode(), true))
      events.push(...this.#read(this.#decoder?.end() ?? []))
    }
    if (!this.#started) events.unshift(this.#start())
    events.push(this.#conclude(interruption))
    return events
  }

  #pushText(text: string, ended: boolean): StreamEvent[] {
    if (this.#decoder) return this.#read(this.#decoder.push(text))
    this.#beginning += text
    this.#format ??= detectFormat(this.#about.contentType, this.#beginning, ended)
    if (this.#format === undefined) return []
    this.#decoder = decoderOf(this.#format)
    return this.#read(this.#decoder.push(this.#beginning))
  }

  #read(units: StreamUnit[]): StreamEvent[] {
    const events: StreamEvent[] = []
    for (const unit of units) {
      if (this.ended === 'now') break
      this.#gap ||= this.#unreadable
      if (unit.type === 'done') this.ended = 'now'
      else if (unit.type === 'unreadable') this.#unreadable = this.ended === 'no'
      else if (unit.type === 'text') {
        const frame = readTextFrame(unit.text, unit.event)
        this.#hasPlainText ||= (frame.text ?? '') !== ''
        events.push(...this.#take(frame))
      } else {
        if (typeof unit.value !== 'string') this.#objects++
        events.push(...this.#take(readFrame(unit.value, unit.event)))
      }
    }
    return events
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
    const isLast = frame.ends !== undefined
    if (reasoning) {
      const added = this.#reasoning.add(reasoning.text, reasoning.source, isLast)
      if (added !== '') events.push({ type: 'reasoning', text: added })
    }
    if (text !== undefined) {
      const added = this.#text.add(text, source, isLast)
      if (added !== '') events.push({ type: 'delta', text: added })
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

  #conclude(interruption: Interruption | undefined): StreamEnd {
    const { model: _, ...known } = this.#seen
    const end: StreamEnd = { type: 'end', complete: true, verified: true, ...known, text: this.#text.text }
    if (!interruption && this.#isWhole()) end.isWholeBody = true
    const fault = this.#findFault(interruption)
    const isVerified = this.ended !== 'no' || (this.#objects > 0 && !this.#hasPlainText)
    if (!fault) return isVerified ? end : { ...end, verified: false }
    const { kind, reason, ...more } = fault
    const { status, request } = this.#about
    const failure = new Failure(kind, reason, { status, request, ...more })
    return { ...end, complete: false, verified: false, reason, failure }
  }

  #findFault(interruption: Interruption | undefined): Fault | undefined {
    if (this.#reportedError) {
      const { message = 'The service ended the reply with an error', ...more } = this.#reportedError
      return { kind: 'server_error', reason: message, ...more }
    }
    if (this.#format === 'page') return unusable('The response is a web page')
    if (!this.#utf8.isValid) return truncated(invalidUtf8)
    if (this.#gap) return truncated('The stream contains an unreadable frame')
    if (this.ended !== 'no') return undefined
    if (interruption) return { ...truncated(interruption.reason), cause: interruption.cause }
    if (this.#unreadable) {
      return this.#format === 'json'
        ? unusable('The response is not valid JSON')
        : truncated('The stream was truncated within a frame')
    }
    if (this.#isWhole())
      return this.#last.text === undefined ? unusable('The response contains no text') : undefined
    if (this.#objects > 0 && !this.#hasPlainText) return truncated('The stream ended without a final event')
    return this.#text.text === '' ? unusable('The reply is empty') : undefined
  }

  /** Whether the stream was one JSON body, which means that the service did not stream. */
  #isWhole(): boolean {
    if (this.#objects !== 1 || this.#last.continues) return false
    return this.#format === 'json' || (this.#format === 'ndjson' && this.#last.source === 'whole')
  }
}

/** The text of a reply, or its reasoning, from parts. */
class AssembledText {
  text = ''
  /** Whether certain parts have arrived, so that another field can only repeat them. */
  #isCertain = false

  /**
   * @param isLast whether the frame ends the reply, and may repeat all of its text
   * @returns the new text
   */
  add(part: string, source: Frame['source'], isLast: boolean): string {
    const mayRepeat = source !== 'delta' && (isLast || this.#isCertain) && this.text !== ''
    const added = mayRepeat && part.startsWith(this.text) ? part.slice(this.text.length) : part
    this.#isCertain ||= source === 'delta'
    this.text += added
    return added
  }
}

function unusable(reason: string): Fault {
  return { kind: 'invalid_response', reason }
}

function truncated(reason: string): Fault {
  return { kind: 'truncated', reason }
}
