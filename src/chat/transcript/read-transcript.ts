import { readFileSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import type { Message } from '../../contract/resources/completion.ts'
import {
  endOf,
  isEnded,
  type LineOf,
  parseLine,
  type Transcript,
  type TranscriptLine,
  type Turn,
} from './transcript.ts'
import { sessionIdOf, withStorageErrors } from './transcript-files.ts'

/**
 * Reads a transcript. Skips a truncated last line, and lines of unknown types.
 * @throws Failure `not_found`; `storage` if it cannot be read, or a newer version wrote it
 */
export function readTranscript(path: string): Transcript {
  return buildTranscript(sessionIdOf(path), readLines(path))
}

/** Reads a transcript without its replies, which are most of its lines. @throws Failure as `readTranscript` */
export function readOutline(path: string): Omit<Transcript, 'conversation'> {
  const isNeeded = (line: string) => !/^\{"type":"(delta|reasoning)"/.test(line)
  const { conversation, ...outline } = buildTranscript(sessionIdOf(path), readLines(path, isNeeded))
  return outline
}

/** Undefined for a line that cannot be read. */
export function* readLines(path: string, isNeeded = (_line: string) => true) {
  const text = withStorageErrors(path, 'read', () => readFileSync(path, 'utf8'))
  for (const part of text.slice(0, text.lastIndexOf('\n')).split('\n')) {
    if (part !== '' && isNeeded(part)) yield parseLine(part)
  }
}

/** A session as messages that a search finds and an export contains. */
export function readMessages(path: string) {
  const { id, profile, baseUrl, turns } = readTranscript(path)
  const messages = turns.flatMap((turn) => {
    const { at, user, reply, repliedAt = at, origin, status } = turn
    const contextId = turn.contextId ?? origin.contextId
    const common = { turn: turn.number, contextId, isLocal: isLocal(turn) }
    const none = { id: undefined, end: undefined }
    const prompt = { ...common, ...none, role: 'user', at, text: user, isComplete: true }
    if (reply === '') return [prompt]
    const ended = { id: turn.id, isComplete: isEnded(status), end: endOf(turn) }
    return [prompt, { ...common, role: 'assistant', at: repliedAt, text: reply, ...ended }]
  })
  return { id, profile, baseUrl, messages }
}

/** Whether only this machine stores a turn: a completion, or a reply for which the service has named no conversation. */
export function isLocal({ origin, contextId = origin.contextId, reply, firstMs }: Turn): boolean {
  const hasReply = reply !== '' || firstMs !== undefined
  return origin.mode === 'completions' || (contextId === undefined && hasReply)
}

/** Reason of a turn without an `end` line. */
const crash = 'ended by a crash'

/**
 * Builds a transcript from its lines.
 * @param id used if the first line is missing
 * @throws Failure `storage` for a transcript of a newer version
 */
export function buildTranscript(id: string, lines: Iterable<TranscriptLine | undefined>): Transcript {
  const transcript: Transcript = {
    id,
    at: '',
    updatedAt: '',
    profile: null,
    baseUrl: null,
    mode: 'context',
    turns: [],
    conversation: [],
    lacksBeginning: false,
    isOnService: true,
  }
  let recorded: Message[] = []
  /** Index of the first turn that `recorded` does not contain. */
  let firstTurn = 0
  for (const line of lines) {
    if (!line) continue
    if ('at' in line) transcript.updatedAt = line.at
    switch (line.type) {
      case 'session':
        begin(transcript, line)
        break
      case 'name':
        transcript.name = line.name
        break
      case 'options':
        if (startsNewContext(transcript, line)) {
          recorded = []
          transcript.lacksBeginning = false
          firstTurn = transcript.turns.length
        }
        setOptions(transcript, line)
        break
      case 'conversation':
        recorded = line.messages
        transcript.lacksBeginning = line.lacks_beginning === true
        firstTurn = transcript.turns.length
        break
      case 'user':
        transcript.turns.push(openTurn(line, transcript))
        if (transcript.mode === 'completions') transcript.isOnService = false
        break
      default:
        addToTurn(transcript, line)
    }
  }
  transcript.conversation = [...recorded, ...transcript.turns.slice(firstTurn).flatMap(messagesOf)]
  // The lines of replies may be missing.
  const hasReply = transcript.turns.some(({ reply, firstMs }) => reply !== '' || firstMs !== undefined)
  if (transcript.contextId === undefined && hasReply) {
    // The service has named no conversation, so only this machine can continue the conversation.
    transcript.mode = 'completions'
    transcript.isOnService = false
  }
  return transcript
}

function begin(transcript: Transcript, line: LineOf<'session'>): void {
  const { v, id, at, profile, base_url: baseUrl, forked_from: forkedFrom } = line
  if (v !== 1) {
    throw new Failure('storage', `The transcript ${id} was written by a newer chatctl (version ${v})`, {
      hint: 'Update chatctl.',
    })
  }
  Object.assign(transcript, { id, at, profile, baseUrl, forkedFrom })
}

/** Whether the options name another conversation, which does not contain the messages so far. */
function startsNewContext({ contextId }: Transcript, { mode, context_id }: LineOf<'options'>): boolean {
  return mode === 'context' && contextId !== undefined && context_id !== contextId
}

function setOptions(transcript: Transcript, line: LineOf<'options'>): void {
  if (line.mode === 'context') transcript.isOnService = true
  else if (transcript.mode === 'context') {
    // If the conversation differs from the last one, the reply in the new one failed.
    const isSameContext = transcript.contextId !== undefined && transcript.contextId === line.context_id
    transcript.isOnService = isSameContext || transcript.turns.length === 0
  }
  transcript.mode = line.mode
  const { context_id: contextId, model, system, temperature, max_tokens: maxTokens } = line
  Object.assign(transcript, { contextId, model, system, temperature, maxTokens })
}

function openTurn({ turn, at, text }: LineOf<'user'>, { mode, contextId }: Transcript): Turn {
  const origin = { mode, contextId }
  return { number: turn, at, user: text, reply: '', status: 'lost', reason: crash, events: [], origin }
}

type ReplyLine = LineOf<'start' | 'reasoning' | 'delta' | 'usage' | 'end' | 'recovered'>

function addToTurn(transcript: Transcript, line: ReplyLine): void {
  const turn = transcript.turns.findLast(({ number }) => number === line.turn)
  if (turn && 'at' in line) turn.repliedAt ??= line.at
  if (turn && line.type === 'recovered') recover(turn, line.text)
  if (!turn || line.type === 'recovered' || turn.status !== 'lost') return
  if (line.type === 'start' || line.type === 'end') {
    const { context_id, id } = line
    if (id !== undefined) turn.id = id
    if (context_id !== undefined) turn.contextId = context_id
    if (context_id !== undefined && transcript.mode === 'context') transcript.contextId = context_id
  }
  if (line.type === 'start') {
    const { context_id: contextId, id, model } = line
    if (model !== undefined) turn.model = model
    turn.events.push({ type: 'start', contextId, id, model })
  } else if (line.type === 'end') finish(turn, line)
  else if (line.type === 'usage') {
    turn.usage = line.usage
    turn.events.push({ type: 'usage', usage: line.usage })
  } else if (line.type === 'reasoning') {
    turn.reasoning = (turn.reasoning ?? '') + line.text
    turn.events.push({ type: 'reasoning', text: line.text })
  } else {
    turn.reply += line.text
    turn.events.push({ type: 'delta', text: line.text })
  }
}

function finish(turn: Turn, line: LineOf<'end'>): void {
  turn.status = statusOf(line)
  turn.reason = line.reason ?? line.error?.message
  turn.finishReason = line.finish_reason
  if (line.end) turn.end = line.end
  if (line.tools) turn.tools = line.tools
  turn.firstMs = line.first_ms
  turn.totalMs = line.total_ms
}

function statusOf({ interrupted, error, complete, verified }: LineOf<'end'>): Turn['status'] {
  if (interrupted) return 'interrupted'
  if (error) return 'failed'
  if (!complete) return 'truncated'
  return verified ? 'complete' : 'unverified'
}

/** Replaces the reply with the text from the history. The part that had arrived is a prefix of it, or wrong. */
function recover(turn: Turn, text: string): void {
  const others = turn.events.filter(({ type }) => type !== 'delta')
  const isPrefix = text.startsWith(turn.reply)
  const rest = isPrefix ? text.slice(turn.reply.length) : text
  turn.events = isPrefix ? turn.events : others
  if (rest !== '') turn.events.push({ type: 'delta', text: rest })
  turn.reply = text
  // The history does not tell whether the text is complete.
  turn.status = 'unverified'
  turn.reason = undefined
  delete turn.end
}

function messagesOf({ user, reply, status }: Turn): Message[] {
  const question = { role: 'user', content: user } as const
  if (reply !== '') return [question, { role: 'assistant', content: reply }]
  return isEnded(status) ? [question] : []
}
