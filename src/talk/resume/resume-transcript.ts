import type { Client } from '../../client/client.ts'
import type { Message } from '../../contract/completion.ts'
import type { HistoryMessage } from '../../contract/conversation.ts'
import { Failure } from '../../contract/failure.ts'
import { timeOf } from '../../contract/history-order.ts'
import { isoNow } from '../../system/clock.ts'
import type { Recorder } from '../answer/recorder.ts'
import type { CutAnswer } from '../answer/recover-answer.ts'
import { asMessage, Conversation } from '../conversation.ts'
import type { SessionOptions } from '../session-options.ts'
import type { SessionOutput } from '../session-output.ts'
import { belongsTo } from '../transcript/list-transcripts.ts'
import { readTranscript } from '../transcript/read-transcript.ts'
import type { Transcript, Turn } from '../transcript/transcript.ts'
import { TranscriptWriter } from '../transcript/transcript-writer.ts'
import { type Reconciled, reconcile, type Said } from './reconcile.ts'
import { showEarlier, showUnanswered } from './show-earlier.ts'

/**
 * Goes on with a session of this machine, after a look at what the service's history says of it.
 *
 * @throws Failure `usage` where it belongs to another connection, or is the session's own
 */
export async function resumeTranscript(session: Resuming, path: string, signal: AbortSignal): Promise<Begun> {
  if (session.recorder?.path === path) {
    throw new Failure('usage', `Session ${session.recorder.id} is already open here`)
  }
  const transcript = readTranscript(path)
  demandSameConnection(session.options, transcript)
  const conversation = conversationOf(transcript)
  const { model, isModelAsked } = session.options
  if (isModelAsked || conversation.model === undefined) conversation.model = model
  const turns = findTurns(conversation.messages, transcript.turns)
  const said = conversation.messages.map((message): Said => ({ message, at: timeOfTurn(turns.get(message)) }))
  const { entries, doubt } = await compareWithHistory(session.client, conversation, said, signal)
  conversation.messages = entries.map(({ message }) => message)

  const { writer, isShared } = openWriter(session.options, path)
  const at = isoNow(session.options.clock)
  writer.append(conversation.optionsLine(at))
  const differs = entries.some(({ mark }) => mark === 'service' || mark === 'longer')
  if (isShared || differs) writer.append(conversation.conversationLine(at))
  const last = entries.at(-1)
  const turn = transcript.turns.at(-1)?.number ?? 0
  // Questions that got no word of an answer may have come after it.
  const cut = transcript.turns.findLast(({ answer }) => answer !== '')
  if (!isShared && last?.mark === 'longer' && cut && last.message.content.startsWith(cut.answer)) {
    const { content: text } = last.message
    writer.append({ type: 'recovered', turn: cut.number, at, text })
  }
  const unanswered = findUnanswered(transcript, entries)
  return {
    conversation,
    writer,
    turns: isShared ? 0 : turn,
    cutAnswer: cutOf(last && turns.get(last.message)),
    unsent: unanswered?.user,
    show: () => {
      showEarlier(session.output, session.options.showCommand(writer.id), entries, turns)
      if (unanswered) showUnanswered(session.output, unanswered)
      if (doubt !== undefined)
        session.output.note(`[cannot compare with the history of the service: ${doubt}]`)
      if (isShared)
        session.output.note(
          '[the session is open in another terminal, so this one writes a separate transcript]',
        )
    },
  }
}

function timeOfTurn(turn: Turn | undefined): number | undefined {
  const time = Date.parse(turn?.at ?? '')
  return Number.isNaN(time) ? undefined : time
}

/** What /continue goes on with. */
function cutOf(turn: Turn | undefined): CutAnswer | undefined {
  if (!turn || turn.status === 'complete' || turn.status === 'unverified') return undefined
  return { prompt: turn.user, part: turn.answer, answerId: turn.id }
}

/** The last question, where no word of an answer came and the service's history does not have it. */
function findUnanswered({ turns }: Transcript, entries: readonly Reconciled[]): Turn | undefined {
  const last = turns.at(-1)
  if (last?.answer !== '' || last.status === 'complete') return undefined
  const isOnService = entries.some(
    ({ message, mark }) => mark === 'service' && message.role === 'user' && message.content === last.user,
  )
  return isOnService ? undefined : last
}

/** Of two sessions on one transcript each keeps its own. */
function openWriter(options: SessionOptions, path: string): { writer: TranscriptWriter; isShared: boolean } {
  try {
    return { writer: TranscriptWriter.reopen(path), isShared: false }
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error
    return { writer: createTranscript(options), isShared: true }
  }
}

function demandSameConnection(options: SessionOptions, transcript: Transcript): void {
  if (belongsTo(transcript, options.owner)) return
  const { id, profile, baseUrl } = transcript
  const other = [baseUrl ?? 'the embedded service', profile && `profile ${profile}`]
    .filter(Boolean)
    .join(', ')
  throw new Failure('usage', `Session ${id} belongs to another service or profile: ${other}`, {
    ...(profile
      ? { hint: options.resumeCommand(id, profile) }
      : { advice: [{ code: 'name_service_of_session', session: id, baseUrl }] }),
  })
}

function conversationOf(transcript: Transcript): Conversation {
  const conversation = new Conversation()
  conversation.mode = transcript.mode
  conversation.contextId = transcript.contextId
  conversation.model = transcript.model
  conversation.answeredBy = transcript.turns.at(-1)?.model
  conversation.parameters = {
    system: transcript.system,
    temperature: transcript.temperature,
    maxTokens: transcript.maxTokens,
  }
  conversation.messages = [...transcript.conversation]
  conversation.lacksBeginning = transcript.lacksBeginning
  conversation.isOnService = transcript.isOnService
  return conversation
}

/** Where the conversation is kept here, or the service cannot be asked, ours is the only account. */
async function compareWithHistory(
  client: Client,
  { mode, contextId }: Conversation,
  said: readonly Said[],
  signal: AbortSignal,
): Promise<{ entries: Reconciled[]; doubt?: string }> {
  const ours = said.map(({ message }): Reconciled => ({ message, mark: 'none' }))
  if (mode !== 'context' || contextId === undefined) return { entries: ours }
  try {
    const pages = client.history.pages({ context_id: contextId }, { signal })
    const { value: newest } = await pages.next()
    const remote = (newest?.messages ?? []).flatMap((one: HistoryMessage) =>
      asMessage(one).map((message): Said => ({ message, at: timeOf(one) || undefined })),
    )
    return { entries: reconcile(said, remote, newest?.response.body?.has_more !== true) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { entries: ours, doubt: error.message }
  }
}

/** What it takes to go on with a conversation. */
export interface Resuming {
  readonly options: SessionOptions
  readonly client: Client
  readonly output: SessionOutput
  /** Of the conversation so far; undefined before the first. */
  readonly recorder: Recorder | undefined
}

/** What a session goes on with from here, and what there is to show of it. */
export interface Begun {
  conversation: Conversation
  writer: TranscriptWriter
  /** Turns that the transcript has already. */
  turns: number
  /** The last answer, where it did not come whole. */
  cutAnswer?: CutAnswer | undefined
  /** The last question, where no answer came at all. */
  unsent?: string | undefined
  show(): void
}

/** A new transcript, which lies nowhere until something is said. */
export function createTranscript({ sessionsDirectory, owner, clock }: SessionOptions): TranscriptWriter {
  const { profile = null, baseUrl = null } = owner
  return TranscriptWriter.create(sessionsDirectory, { profile, baseUrl }, clock)
}

/**
 * The turns that the messages of a conversation come from, the newest of the same words last. A
 * message of which no transcript has a turn, such as one from the service's history, is left out.
 */
export function findTurns(messages: readonly Message[], turns: readonly Turn[]): Map<Message, Turn> {
  const byWords = new Map<string, Turn[]>()
  for (const turn of turns) {
    const key = keyOf(turn.user, turn.answer)
    byWords.set(key, [...(byWords.get(key) ?? []), turn])
  }
  const found = new Map<Message, Turn>()
  for (let index = messages.length - 1; index > 0; index--) {
    const [question, answer] = [messages[index - 1], messages[index]]
    if (question?.role !== 'user' || answer?.role !== 'assistant') continue
    const turn = byWords.get(keyOf(question.content, answer.content))?.pop()
    if (!turn) continue
    found.set(question, turn)
    found.set(answer, turn)
  }
  return found
}

function keyOf(question: string, answer: string): string {
  return JSON.stringify([question, answer])
}
