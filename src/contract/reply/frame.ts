import type { FailureKind } from '../failure.ts'
import { isRecord } from '../notation/exact-json.ts'
import type { Usage } from '../resources/completion.ts'
import { type ErrorContent, readErrorContent } from './error-content.ts'
import { endOfReason, ownEnds, type ReplyEnd } from './reply-end.ts'

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
  /** What it says about the reply. */
  about?: Partial<Record<'id' | 'contextId' | 'createdAt' | 'model' | 'finishReason', string>>
  usage?: Usage
  /** Whether it is, or contains, a message of the model, or a part of one. */
  isReply?: boolean
  /** What it says about the end of the reply. */
  signs?: ReplyEnd[]
  /** The names of the tools that the model calls. */
  tools?: string[]
  /** Whether it contains a call of a tool, which is the end only if no text arrives. */
  hasCalls?: boolean
  /** The choices that have a finish reason, by index. */
  finished?: unknown[]
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

export function hasPart({ text, reasoning }: Frame): boolean {
  return text !== undefined || reasoning !== undefined
}

/**
 * Reads a JSON value in any of the known shapes.
 * @param choice the one to read, of several (default: the first, which is the only one that clients request)
 */
export function readFrame(value: unknown, event?: string, choice = firstChoice(value)): Frame {
  const frame: Frame = {}
  if (typeof value === 'string') return readTextFrame(value, event)
  if (!isRecord(value)) return frame
  const name = event ?? textOf(value['event']) ?? textOf(value['type']) ?? ''
  const messages = messagesIn(value, choice)
  const found = findText(value, choice, messages)
  const failed = [value, choice].find((one) => isError(one?.['error'], (choice ?? found) !== undefined))
  if (failed) frame.error = readErrorContent(failed)
  else if (errorNames.test(name) || value['object'] === 'error')
    frame.error = readErrorContent({ error: value, ...value })
  else if (value['success'] === false) frame.error = { kind: 'rejected', ...readErrorContent(value) }

  const isReasoning = isReasoningName(name)
  const reasoning = findReasoning(value, messages, isReasoning) ?? (isReasoning ? found : undefined)
  if (reasoning) frame.reasoning = reasoning
  const refusal = messages.map(([message]) => refusalIn(message)).join('')
  const text = refusal === found?.text ? refusal : (found?.text ?? '') + refusal
  if (refusal !== '') Object.assign(frame, { source: 'delta', ...found, text })
  else if (found && !isReasoning) Object.assign(frame, found)
  const finish =
    reasonOf(choice) ??
    reasonOf(value) ??
    textOf(value['done_reason']) ??
    textOf(value['stop_reason']) ??
    textOf(inside(value['delta'], 'stop_reason'))
  frame.tools = messages.flatMap(([{ tool_calls, function_call }]) =>
    [tool_calls, function_call].flat().filter(isRecord).flatMap(nameOfCall),
  )
  frame.hasCalls = frame.tools.length > 0
  frame.tools.push(...[value['tools'], choice?.['tools']].flat().filter((tool) => typeof tool === 'string'))
  const given = choice?.['end'] ?? value['end']
  frame.signs = [
    finish === undefined ? undefined : endOfReason(finish),
    refusal === '' ? undefined : ('refusal' as const),
    ownEnds.find((end) => end === given),
  ].filter((end) => end !== undefined)
  frame.isReply =
    messages.length > 0 || [frame.text, frame.reasoning, finish].some((one) => one !== undefined)
  // Some services first announce, or finally repeat, the whole reply as a nested object.
  const inner = [value['message'], value['response']].find(isRecord)
  const known = {
    id: textOf(value['id']) ?? textOf(inner?.['id']),
    contextId: textOf(value['context_id']) ?? textOf(inner?.['context_id']),
    createdAt: textOf(value['created_at']) ?? textOf(inner?.['created_at']),
    model: textOf(value['model']) ?? textOf(inner?.['model']),
    finishReason: finish,
  }
  frame.about = Object.fromEntries(
    Object.entries(known).flatMap(([name, text]) => (text ? [[name, text]] : [])),
  )
  const usage = value['usage'] ?? inner?.['usage']
  if (isRecord(usage)) frame.usage = usage
  if (value['done'] === true || endNames.test(name)) frame.ends = 'now'
  else if (finish !== undefined) frame.ends = 'soon'
  frame.continues =
    value['done'] === false || (choice?.['finish_reason'] === null && !isRecord(choice['message']))
  frame.finished = choicesOf(value).flatMap((one) => (reasonOf(one) === undefined ? [] : [one['index'] ?? 0]))
  return frame
}

/**
 * Whether a field `error` contains one. Some servers always send the field.
 * @param isUsable whether a part of a reply is beside it
 */
function isError(error: unknown, isUsable: boolean): boolean {
  if (!isRecord(error)) return textOf(error) !== undefined
  const { code, message } = readErrorContent({ error })
  if (isUsable) return code === undefined ? message !== undefined : Number(code) !== 0
  return message !== undefined || Object.values(error).some((field) => Number(field) !== 0)
}

/** Some servers write "null" or "none". */
function reasonOf(choice: Record<string, unknown> | undefined): string | undefined {
  const reason = textOf(choice?.['finish_reason'])
  return /^(null|none)$/i.test(reason ?? '') ? undefined : reason
}

type FoundMessage = [message: Record<string, unknown>, source: TextSource]

/** The messages of the model, without an echo of the user's. */
function messagesIn(value: Record<string, unknown>, choice: Record<string, unknown> = {}): FoundMessage[] {
  const places: [unknown, TextSource][] = [
    [choice['delta'], 'delta'],
    [choice['message'], 'whole'],
    [value['delta'], 'delta'],
    [value['message'], 'whole'],
  ]
  return places.filter((place): place is FoundMessage => isRecord(place[0]) && place[0]['role'] !== 'user')
}

function findText(
  value: Record<string, unknown>,
  choice: Record<string, unknown> | undefined,
  messages: FoundMessage[],
): FoundText | undefined {
  const places: [unknown, TextSource][] = [
    ...messages.map(([{ content }, source]): [unknown, TextSource] => [content, source]),
    [choice?.['text'], 'delta'],
    [value['delta'], 'delta'],
    [inside(value['delta'], 'text'), 'delta'],
    [value['response'], 'whole'],
    [value['content'], 'plain'],
    [value['text'], 'plain'],
  ]
  for (const [place, source] of places) {
    const text = textIn(place)
    if (text !== undefined) return { text, source }
  }
  return undefined
}

/** Content is a text, or a list of parts: texts, and others such as the reasoning. */
function textIn(content: unknown): string | undefined {
  if (!Array.isArray(content) || content.length === 0)
    return typeof content === 'string' ? content : undefined
  return content
    .map((part: unknown) => {
      if (!isRecord(part)) return typeof part === 'string' ? part : ''
      if (isReasoningName(textOf(part['type']) ?? '')) return ''
      return textOf(part['text']) ?? textOf(inside(part['text'], 'value')) ?? ''
    })
    .join('')
}

function refusalIn({ refusal, content }: Record<string, unknown>): string {
  const parts = Array.isArray(content) ? content.map((part) => textOf(inside(part, 'refusal')) ?? '') : []
  return [textOf(refusal) ?? '', ...parts].join('')
}

const nameOfCall = (call: Record<string, unknown>) =>
  textOf(inside(call['function'], 'name') ?? call['name']) ?? []

/**
 * Fields of a message that contain reasoning. The interface has none; servers for models that reason add
 * one of these, or several with the same text.
 */
const reasoningFields = ['reasoning', 'reasoning_content', 'thinking'] as const

/** The reasoning in a message, or in a part of one. It is never a part of the reply. */
function reasoningIn(message: Record<string, unknown>): string | undefined {
  for (const field of reasoningFields) {
    const text = textIn(message[field])
    if (text !== undefined && text !== '') return text
  }
  const { content } = message
  const parts = Array.isArray(content) ? content.filter(isRecord) : []
  const isReasoning = (part: Record<string, unknown>) => isReasoningName(textOf(part['type']) ?? '')
  const texts = parts.map(
    (part) => reasoningIn(part) ?? (isReasoning(part) ? textIn(part['text']) : '') ?? '',
  )
  return textOf(texts.join(''))
}

/** @param isNamed whether the name of the event says so, and its field can only be the next part */
function findReasoning(
  value: Record<string, unknown>,
  messages: FoundMessage[],
  isNamed: boolean,
): FoundText | undefined {
  for (const [place, source] of [...messages, [value, isNamed ? 'delta' : 'plain'] as const]) {
    const text = reasoningIn(place)
    if (text !== undefined) return { text, source }
  }
  return undefined
}

function choicesOf(value: unknown): Record<string, unknown>[] {
  const choices = inside(value, 'choices')
  return Array.isArray(choices) ? choices.filter(isRecord) : []
}

function firstChoice(value: unknown): Record<string, unknown> | undefined {
  // Other choices, which the client never requests, have separate frames.
  return choicesOf(value).find((choice) => Number(choice['index'] ?? 0) === 0)
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
  if (event !== undefined && endNames.test(event)) return { ends: 'now' }
  if (event !== undefined && isReasoningName(event)) return { reasoning: { text, source: 'plain' } }
  return { text, source: 'plain' }
}
