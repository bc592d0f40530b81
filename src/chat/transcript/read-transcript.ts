import { readFileSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import type { SaidMessage, Transcript } from './transcript.ts'
import { sessionIdOf, withStorageErrors } from './transcript-files.ts'
import { type Delivery, type LineOf, parseLine, type TranscriptLine } from './transcript-line.ts'
import { deliveryOf, endOf, isEnded, openTurn, type Turn, takeLine } from './turn.ts'

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
  const { id, profile, baseUrl, user, turns } = readTranscript(path)
  const messages = turns.flatMap((turn) => {
    const { at, reply, repliedAt = at, contextId } = turn
    const common = { turn: turn.number, contextId, delivery: deliveryOf(turn) }
    const none = { id: undefined, end: undefined }
    const prompt = { ...common, ...none, role: 'user', at, text: turn.user, isComplete: true }
    if (reply === '') return [prompt]
    const ended = { id: turn.id, isComplete: isEnded(turn), end: endOf(turn) }
    return [prompt, { ...common, role: 'assistant', at: repliedAt, text: reply, ...ended }]
  })
  return { id, profile, baseUrl, user, messages }
}

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
    delivery: 'not_sent',
    isOnService: true,
  }
  let recorded: SaidMessage[] = []
  /** Index of the first turn that `recorded` does not contain. */
  let firstTurn = 0
  let turn: Turn | undefined
  /** The models that were requested, by turn. */
  const models = new Map<Turn | undefined, string | undefined>()
  let hasNewOptions = false
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
        hasNewOptions = true
        break
      case 'conversation':
        recorded = line.messages.map((message, index) => {
          const number = line.turns?.[index]
          return { ...message, turn: transcript.turns.find((turn) => turn.number === number) }
        })
        transcript.lacksBeginning = line.lacks_beginning === true
        firstTurn = transcript.turns.length
        break
      case 'user':
        turn = openTurn(line, transcript)
        transcript.turns.push(turn)
        models.set(turn, transcript.model)
        hasNewOptions = false
        break
      default:
        if (turn?.number !== line.turn) turn = transcript.turns.findLast(({ number }) => number === line.turn)
        if (turn?.status === 'lost' && 'context_id' in line && transcript.mode === 'context')
          transcript.contextId = line.context_id ?? transcript.contextId
        if (turn) takeLine(turn, line)
    }
  }
  transcript.conversation = [...recorded, ...transcript.turns.slice(firstTurn).flatMap(messagesOf)]
  const delivered = transcript.turns.filter((one) => deliveryOf(one) !== 'not_sent')
  const last = delivered.at(-1)
  // The service may have refused the model of later turns.
  if (last && last !== transcript.turns.at(-1) && !hasNewOptions && transcript.model !== models.get(last))
    Object.assign(transcript, { model: models.get(last) })
  // If the service has named no conversation, only this machine can continue the conversation.
  if (transcript.contextId === undefined && delivered.some((one) => deliveryOf(one) !== 'unknown'))
    transcript.mode = 'completions'
  const isSame = last?.mode === 'context' && last.contextId === transcript.contextId
  transcript.isOnService = transcript.mode === 'context' || !last || (isSame && last.contextId !== undefined)
  const order: Delivery[] = ['local', 'unknown', 'stored']
  const least = order.find((each) => delivered.some((one) => deliveryOf(one) === each)) ?? 'not_sent'
  transcript.delivery = transcript.isOnService ? least : 'local'
  return transcript
}

function begin(transcript: Transcript, line: LineOf<'session'>): void {
  const { v, id, at, profile, base_url: baseUrl, user, forked_from: forkedFrom } = line
  if (v !== 1) {
    throw new Failure('storage', `The transcript ${id} was written by a newer chatctl (version ${v})`, {
      hint: 'Update chatctl.',
    })
  }
  Object.assign(transcript, { id, at, profile, baseUrl, forkedFrom, ...(user !== undefined && { user }) })
}

/** Whether the options name another conversation, which does not contain the messages so far. */
function startsNewContext({ contextId }: Transcript, { mode, context_id }: LineOf<'options'>): boolean {
  return mode === 'context' && contextId !== undefined && context_id !== contextId
}

function setOptions(transcript: Transcript, line: LineOf<'options'>): void {
  transcript.mode = line.mode
  const { context_id: contextId, model, system, temperature, max_tokens: maxTokens } = line
  Object.assign(transcript, { contextId, model, system, temperature, maxTokens })
}

function messagesOf(turn: Turn): SaidMessage[] {
  const question = { role: 'user', content: turn.user, turn } as const
  if (turn.reply !== '') return [question, { role: 'assistant', content: turn.reply, turn }]
  return isEnded(turn) ? [question] : []
}
