import { type FailedRequest, Failure, type FailureKind } from '../failure.ts'
import { isRecord } from '../notation/exact-json.ts'
import { CheckingDecoder, invalidUtf8 } from '../notation/text.ts'
import type { Usage } from '../resources/completion.ts'
import type { StreamEnd, StreamEvent, StreamFormat } from '../resources/stream-event.ts'
import { AssembledText } from './assembled-text.ts'
import { type Frame, readFrame, readTextFrame } from './frame.ts'
import { decisiveEnd, type ReplyEnd } from './reply-end.ts'
import {
  type Decoder,
  type DetectedFormat,
  decoderOf,
  detectFormat,
  type EventRules,
  type StreamUnit,
} from './stream-format.ts'

/** How many pieces after a finish reason that only keep the connection open begin the wait for the end again. */
const maxPings = 12

interface About {
  contentType?: string
  /** The format of the stream, which overrides its content type. */
  format?: StreamFormat | undefined
  events?: EventRules
  /** How many choices were requested (default: 1). */
  choices?: number
  /** Called with each JSON value of the reply. Then no text is kept. */
  onValue?(value: unknown, text: string): void
  status?: number
  request?: FailedRequest
}

/** Why a stream ended early. */
export interface Interruption {
  reason: string
  cause?: unknown
}

interface Fault extends Interruption {
  kind: FailureKind
  code?: string
  details?: unknown
}

/** A reply that arrived as one value. */
export interface WholeReply extends StreamEnd {
  reasoning: string
}

/**
 * Assembles a reply, and decides how it ended: bytes in, events out. How the bytes are split only affects how the text
 * is split.
 */
export class Assembly {
  /** Whether the service has ended the reply. After `soon`, other frames may follow; after `now`, none. */
  ended: 'no' | 'soon' | 'now' = 'no'
  /** The model, as soon as the service names it. */
  model: string | undefined
  /** The JSON value in which the service sent an error. */
  failedValue: unknown
  readonly #about: About
  readonly #utf8 = new CheckingDecoder()
  readonly #text = new AssembledText()
  readonly #reasoning = new AssembledText()
  readonly #signs = new Set<ReplyEnd>()
  readonly #tools = new Set<string>()
  readonly #finished = new Set<unknown>()
  #hasCalls = false
  #seen: Pick<StreamEnd, 'id' | 'contextId' | 'createdAt' | 'model' | 'finishReason'> = {}
  #usage: Usage | undefined
  #error: Frame['error']
  /** The text before the format was detected. */
  #beginning = ''
  #format: DetectedFormat | undefined
  #decoder: Decoder | undefined
  #started = false
  /** Number of frames that are JSON objects. A stream of these has a final event. */
  #objects = 0
  /** Whether a part of the reply was plain text. */
  #hasPlainText = false
  /** Whether a unit was unreadable. After a finish reason, it is the end unless text follows. */
  #unreadable = false
  /** Whether text has followed a finish reason, which is then no end. */
  #isContinued = false
  /** Whether a frame could not be read and others came after it. */
  #gap = false
  #isTooLong = false
  /** Number of consecutive pieces that only keep the connection open. */
  #pings = 0
  #last: Frame = {}

  constructor(about: About = {}) {
    this.#about = about
    if (about.format !== undefined && about.format !== 'auto') this.#format = about.format
  }

  /** Whether the service has sent an error so far. */
  get hasFailed(): boolean {
    return this.#error !== undefined || this.#signs.has('failed')
  }

  /** Whether nothing of the reply can be missing, however the stream ends. */
  get isOver(): boolean {
    return this.ended === 'now' || (this.ended === 'soon' && !this.#isContinued)
  }

  /** Whether a part of the reply could not be read. */
  get isUnreadable(): boolean {
    return this.#gap || (this.#unreadable && (this.ended === 'no' || this.#isContinued))
  }

  /**
   * Whether the last bytes begin the wait for the next ones again. Those that only keep the connection open do not,
   * except for some time after a finish reason.
   */
  get isHeard(): boolean {
    return this.#pings <= (this.ended === 'soon' ? maxPings : 0)
  }

  /** Processes the next bytes. */
  push(bytes: Uint8Array): StreamEvent[] {
    const units = this.#decode(this.#utf8.decode(bytes), false)
    const isWithin = this.#decoder ? this.#decoder.isWithin : !this.#beginning.startsWith(':')
    this.#pings = isWithin || units.length > 0 ? 0 : this.#pings + 1
    return this.#read(units)
  }

  /** Ends the stream. The last event is `end`. @param interruption why the stream ended early */
  end(interruption?: Interruption): [...StreamEvent[], StreamEnd] {
    const units: StreamUnit[] = []
    if (this.ended !== 'now') {
      if (!interruption) units.push(...this.#decode(this.#utf8.decode(), true))
      units.push(...(this.#decoder?.end() ?? []))
    }
    const events = this.#read(units)
    if (!this.#started) events.unshift(this.#start())
    return [...events, this.#conclude(interruption)]
  }

  /** Reads a reply that arrived as one value. */
  readBody(frame: Frame): WholeReply {
    this.#objects = 1
    this.#take(frame)
    return { ...this.#conclude(), reasoning: this.#reasoning.text }
  }

  #decode(text: string, ended: boolean): StreamUnit[] {
    if (this.#decoder) return this.#decoder.push(text)
    this.#beginning += text
    this.#format ??= detectFormat(this.#about.contentType ?? '', this.#beginning, ended)
    if (this.#format === undefined) return []
    this.#decoder = decoderOf(this.#format, this.#about.events)
    return this.#decoder.push(this.#beginning)
  }

  #read(units: StreamUnit[]): StreamEvent[] {
    const events: StreamEvent[] = []
    for (const unit of units) {
      if (this.ended === 'now') break
      this.#gap = this.isUnreadable
      if (unit.type === 'unreadable') this.#unreadable = true
      else if (unit.type === 'text') {
        const frame = readTextFrame(unit.text, unit.event)
        this.#hasPlainText ||= (frame.text ?? '') !== ''
        events.push(...this.#take(frame))
      } else if (unit.type === 'json') {
        if (typeof unit.value !== 'string') this.#objects++
        events.push(...this.#take(readFrame(unit.value, unit.event)))
        if (this.hasFailed) this.failedValue ??= unit.value
        else if (!this.#gap) this.#about.onValue?.(unit.value, unit.data)
      } else {
        this.#isTooLong = unit.type === 'too_long'
        this.ended = 'now'
      }
    }
    return events
  }

  #take(frame: Frame): StreamEvent[] {
    const { about, text, source, reasoning, usage, error, ends } = frame
    this.#last = frame
    Object.assign(this.#seen, about)
    this.model = this.#seen.model
    for (const sign of frame.signs ?? []) this.#signs.add(sign)
    for (const name of frame.tools ?? []) this.#tools.add(name)
    for (const index of frame.finished ?? []) this.#finished.add(index)
    // A server that has run a tool sends its text after the call. The order within a whole reply is unknown.
    const hasText = (text ?? '').trim() !== ''
    if (frame.hasCalls) this.#hasCalls = source === 'delta' || !hasText
    else if (hasText) this.#hasCalls = false
    this.#error = error ?? this.#error
    this.#isContinued ||= this.ended === 'soon' && (text ?? '') !== ''
    const isLast = ends !== undefined
    const events: StreamEvent[] = this.#started ? [] : [this.#start()]
    if (reasoning) {
      const added = this.#reasoning.add(reasoning.text, reasoning.source, isLast)
      if (added !== '') events.push({ type: 'reasoning', text: added })
    }
    // A plain field of an error may describe it.
    if (text !== undefined && (!error || source !== 'plain')) {
      const added = this.#text.add(text, source, isLast)
      if (added !== '') events.push({ type: 'delta', text: added })
    }
    if (usage) events.push({ type: 'usage', usage })
    this.#usage = usage ?? this.#usage
    if (this.#about.onValue) this.#text.text = this.#reasoning.text = ''
    const { choices = 1 } = this.#about
    if (error || ends === 'now') this.ended = 'now'
    else if (choices > 1 ? this.#finished.size >= choices : isLast) this.ended = 'soon'
    return events
  }

  #start(): StreamEvent {
    this.#started = true
    const { finishReason: _, createdAt: __, ...known } = this.#seen
    return { type: 'start', ...known }
  }

  /** How the reply ended, after all of it has been read. */
  #conclude(interruption?: Interruption): StreamEnd {
    const { text } = this.#text
    const fault = this.#findFault(interruption)
    const signs = new Set(this.#signs)
    if (text.trim() === '') signs.add('empty')
    if (this.#hasCalls) signs.add('tool_calls')
    const end = fault ? (fault.kind === 'truncated' ? 'truncated' : 'failed') : decisiveEnd(signs)
    const isVerified = this.ended !== 'no' || (this.#objects > 0 && !this.#hasPlainText)
    const known: StreamEnd = {
      ...{ type: 'end', end, complete: !fault, verified: !fault && isVerified, ...this.#seen },
      ...(this.#usage && { usage: this.#usage }),
      ...(this.#tools.size > 0 && end !== 'complete' && { tools: [...this.#tools] }),
      text,
      ...(!interruption && this.#isWhole() && { isWholeBody: true }),
    }
    if (!fault) return known
    const { kind, reason, ...more } = fault
    const { status, request } = this.#about
    return { ...known, reason, failure: new Failure(kind, reason, { status, request, ...more }) }
  }

  #findFault(interruption: Interruption | undefined): Fault | undefined {
    if (this.hasFailed) {
      const { finishReason } = this.#seen
      const words = finishReason && `The model ended the reply with the reason "${finishReason}"`
      const { message = words ?? 'The service ended the reply with an error', ...more } = this.#error ?? {}
      return { kind: 'server_error', reason: message, ...more }
    }
    if (this.#format === 'page') return unusable('The response is a web page')
    if (!this.#utf8.isValid) return truncated(invalidUtf8)
    if (this.#isTooLong) return truncated('The stream contains an event that is too long')
    if (this.#gap) return truncated('The stream contains an unreadable frame')
    if (this.ended === 'now') return undefined
    if (interruption && !this.isOver) return { ...truncated(interruption.reason), cause: interruption.cause }
    if (this.isUnreadable) {
      return this.#format === 'json'
        ? unusable('The response is not valid JSON')
        : truncated('The stream was truncated within a frame')
    }
    if (this.ended === 'soon') return undefined
    if (this.#isWhole()) return this.#last.isReply ? undefined : unusable('The response contains no reply')
    if (this.#objects > 0 && !this.#hasPlainText) return truncated('The stream ended without a final event')
    return this.#text.text === '' ? unusable('The reply is empty') : undefined
  }

  /** Whether the stream was one JSON body, which means that the service did not stream. */
  #isWhole(): boolean {
    if (this.#objects !== 1 || this.#last.continues) return false
    return this.#format === 'json' || (this.#format === 'ndjson' && this.#last.source === 'whole')
  }
}

/**
 * Reads a reply that arrived as one value: a message, or a completion. Its failure is `invalid_response` if it is none.
 * @param choice of a completion (default: the first with a text, or else the first)
 */
export function readWholeReply(body: unknown, choice?: unknown): WholeReply {
  const given = isRecord(body) ? body['choices'] : undefined
  const choices = choice === undefined && Array.isArray(given) ? given : [choice]
  const frames = choices.filter(isRecord).map((one) => readFrame(body, undefined, one))
  const frame = frames.find(({ text }) => text !== undefined) ?? frames[0] ?? readFrame(body)
  return new Assembly({ format: 'json' }).readBody(frame)
}

const unusable = (reason: string): Fault => ({ kind: 'invalid_response', reason })
const truncated = (reason: string): Fault => ({ kind: 'truncated', reason })
