import type { FailureKind } from '../../contract/failure.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import type { Usage } from '../../contract/resources/completion.ts'
import { reasoningIn } from '../../contract/resources/stream-event.ts'
import { type ErrorContent, readErrorContent } from '../response/error-response.ts'

/**
 * Where a text was found. A `delta` is the next part of the reply. A `whole` field contains the reply in
 * documented bodies. In a stream, `whole` and `plain` are the next part too, unless the frame ends the reply.
 */
type TextSource = 'delta' | 'whole' | 'plain'

interface FoundText {
  text: string
  source: TextSource
}

/** The content of one unit of a stream. */
export interface Frame {
  text?: string
  source?: TextSource
  reasoning?: FoundText
  id?: string | undefined
  contextId?: string | undefined
  createdAt?: string | undefined
  model?: string | undefined
  usage?: Usage | undefined
  finishReason?: string | undefined
  /**
   * Whether it ends the reply: `soon` after a finish reason, after which other frames may follow; `now`
   * after `done: true` or an event with such a name, after which none follows.
   */
  ends?: 'soon' | 'now'
  /** Whether it announces more frames. */
  continues?: boolean
  error?: ErrorContent & { kind?: FailureKind }
}

const endNames =
  /^((message|response|chat|stream|completion|answer)[._:-])?(done|end|ended|finish|finished|complete|completed|stop)$/i
const errorNames = /^((message|response|chat|stream|completion|answer)[._:-])?(error|failed)$/i

/** Names of events whose text is reasoning, such as `response.reasoning_text.delta`. */
const reasoningNames = /(^|[._:-])(reasoning|thinking)([._:-]|$)/i

/** Whether the text of an event with this name is reasoning. */
export function isReasoningName(name: string): boolean {
  return reasoningNames.test(name)
}

/** Whether an event with this name ends a reply. */
function isEndName(name: string): boolean {
  return endNames.test(name)
}

/** Whether a frame contains a part of the reply, or of the reasoning. */
export function hasPart({ text, reasoning }: Frame): boolean {
  return text !== undefined || reasoning !== undefined
}

/** Reads a JSON value in any of the known shapes. */
export function readFrame(value: unknown, event?: string): Frame {
  const frame: Frame = {}
  if (typeof value === 'string') return readTextFrame(value, event)
  if (!isRecord(value)) return frame
  const choice = firstChoice(value)
  const name = event ?? textOf(value['event']) ?? textOf(value['type']) ?? ''
  const failed = value['error']
  if (isRecord(failed) || (typeof failed === 'string' && failed !== '')) frame.error = readErrorContent(value)
  else if (errorNames.test(name) || value['object'] === 'error')
    frame.error = readErrorContent({ error: value, ...value })
  else if (value['success'] === false) frame.error = { kind: 'rejected', ...readErrorContent(value) }

  const found = findText(value, choice)
  const isReasoning = isReasoningName(name)
  const reasoning = findReasoning(value, choice, isReasoning) ?? (isReasoning ? found : undefined)
  if (reasoning) frame.reasoning = reasoning
  if (found && !isReasoning) Object.assign(frame, found)
  const finish =
    textOf(choice?.['finish_reason']) ??
    textOf(value['finish_reason']) ??
    textOf(value['done_reason']) ??
    textOf(value['stop_reason']) ??
    textOf(inside(value['delta'], 'stop_reason'))
  // Some services first announce, or finally repeat, the whole reply as a nested object.
  const inner = [value['message'], value['response']].find(isRecord)
  frame.id = textOf(value['id']) ?? textOf(inner?.['id'])
  frame.contextId = textOf(value['context_id']) ?? textOf(inner?.['context_id'])
  frame.createdAt = textOf(value['created_at']) ?? textOf(inner?.['created_at'])
  frame.model = textOf(value['model']) ?? textOf(inner?.['model'])
  frame.finishReason = finish
  const usage = value['usage'] ?? inner?.['usage']
  if (isRecord(usage)) frame.usage = usage
  if (value['done'] === true || isEndName(name)) frame.ends = 'now'
  else if (finish !== undefined) frame.ends = 'soon'
  frame.continues = value['done'] === false || choice?.['finish_reason'] === null
  return frame
}

function findText(
  value: Record<string, unknown>,
  choice: Record<string, unknown> | undefined,
): FoundText | undefined {
  const places: [unknown, TextSource][] = [
    [inside(choice?.['delta'], 'content'), 'delta'],
    [inside(choice?.['message'], 'content'), 'whole'],
    [choice?.['text'], 'delta'],
    [value['delta'], 'delta'],
    [inside(value['delta'], 'content'), 'delta'],
    [inside(value['delta'], 'text'), 'delta'],
    [inside(value['message'], 'content'), 'whole'],
    [value['response'], 'whole'],
    [value['content'], 'plain'],
    [value['text'], 'plain'],
  ]
  for (const [text, source] of places) if (typeof text === 'string') return { text, source }
  return undefined
}

/** @param isNamed whether the name of the event says so, and its field can only be the next part */
function findReasoning(
  value: Record<string, unknown>,
  choice: Record<string, unknown> | undefined,
  isNamed: boolean,
): FoundText | undefined {
  const places: [unknown, TextSource][] = [
    [choice?.['delta'], 'delta'],
    [choice?.['message'], 'whole'],
    [value['delta'], 'delta'],
    [value['message'], 'whole'],
    [value, isNamed ? 'delta' : 'plain'],
  ]
  for (const [place, source] of places) {
    const text = reasoningIn(place)
    if (text !== undefined) return { text, source }
  }
  return undefined
}

function firstChoice(value: Record<string, unknown>): Record<string, unknown> | undefined {
  const choices = Array.isArray(value['choices']) ? value['choices'].filter(isRecord) : []
  // Other choices, which the client never requests, have separate frames.
  return choices.find((choice) => Number(choice['index'] ?? 0) === 0)
}

function inside(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Reads a text unit. The name of its event may be decisive. */
export function readTextFrame(text: string, event?: string): Frame {
  if (event !== undefined && errorNames.test(event)) return { error: { message: text } }
  // The data of a closing event is a status word, if anything.
  if (event !== undefined && isEndName(event)) return { ends: 'now' }
  if (event !== undefined && isReasoningName(event)) return { reasoning: { text, source: 'plain' } }
  return { text, source: 'plain' }
}
