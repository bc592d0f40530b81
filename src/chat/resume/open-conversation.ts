import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import type { Message } from '../../contract/resources/completion.ts'
import { isTokenLimit } from '../../contract/resources/stream-event.ts'
import { isoNow } from '../../system/clock.ts'
import { Conversation, noMessages, toMessages } from '../conversation.ts'
import type { PartialReply } from '../reply/conversation-mode.ts'
import type { Recorder } from '../reply/recorder.ts'
import type { ConversationStart, SessionOptions } from '../session-options.ts'
import type { SessionOutput } from '../session-output.ts'
import { belongsTo, findTranscriptOfContext } from '../transcript/list-transcripts.ts'
import { readTranscript } from '../transcript/read-transcript.ts'
import { describeProfile, type Transcript, type Turn } from '../transcript/transcript.ts'
import { TranscriptWriter } from '../transcript/transcript-writer.ts'
import {
  type MergedMessage,
  reconcile,
  showEarlierMessages,
  showPromptWithoutReply,
} from './earlier-messages.ts'

/**
 * Opens the conversation that a session starts with or switches to. The session itself is not changed.
 *
 * @throws Failure if the conversation does not exist, or belongs to another connection
 */
export function openConversation(
  session: ResumeHost,
  beginning: ConversationStart,
  signal: AbortSignal,
): OpenedConversation | Promise<OpenedConversation> {
  switch (beginning.kind) {
    case 'new':
      return startNew(session)
    case 'transcript':
      return resumeTranscript(session, beginning, signal)
    case 'context':
      return startFromContext(session, beginning, signal)
  }
}

function startNew(session: ResumeHost): OpenedConversation {
  const conversation = new Conversation()
  conversation.model = session.options.model
  const { sessionsDirectory, owner, clock } = session.options
  const writer = TranscriptWriter.create(sessionsDirectory, owner, clock)
  writer.append(conversation.optionsLine(isoNow(clock)))
  return { conversation, writer, turns: 0, show: () => {} }
}

/** Continues a conversation of the service, from its transcript on this machine if there is one. */
async function startFromContext(
  session: ResumeHost,
  { id, path, writer: held }: Extract<ConversationStart, { kind: 'context' }>,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const { owner, sessionsDirectory, clock } = session.options
  const known = path ?? findTranscriptOfContext(sessionsDirectory, owner, id)?.path
  if (known !== undefined) return resumeTranscript(session, { path: known, writer: held }, signal)
  const pages = session.client.history.pages({ context_id: id }, { signal })
  const { value: newest } = await pages.next()
  const conversation = new Conversation()
  conversation.model = session.options.model
  conversation.contextId = id
  // If the service omits has_more, there may be more.
  conversation.lacksBeginning = newest?.response.body?.has_more !== false
  conversation.messages = (newest?.messages ?? []).flatMap(toMessages)
  if (conversation.messages.length === 0) throw noMessages(id)
  const writer = TranscriptWriter.create(sessionsDirectory, owner, clock)
  const at = isoNow(clock)
  writer.append(conversation.optionsLine(at))
  writer.append(conversation.conversationLine(at))
  const entries = conversation.messages.map((message) => ({ message, difference: 'none' as const }))
  return {
    conversation,
    writer,
    turns: 0,
    show: () => showEarlierMessages(session.output, session.options.showCommand(writer.id), entries),
  }
}

/**
 * Resumes a session of this machine, and compares it with the history of the service.
 *
 * @throws Failure `usage` if it belongs to another connection, or is open in this session
 */
async function resumeTranscript(
  session: ResumeHost,
  { path, writer: held }: { path: string; writer?: TranscriptWriter | undefined },
  signal: AbortSignal,
): Promise<OpenedConversation> {
  if (session.recorder?.path === path) {
    throw new Failure('usage', `Session ${session.recorder.id} is already open here`)
  }
  // Before it is read, so that no turn of another process is missing.
  const own = session.options.isRecorded ? (held ?? TranscriptWriter.reopenUnlessOpen(path)) : undefined
  try {
    return await continueTranscript(session, path, own, signal)
  } catch (error) {
    own?.close()
    throw error
  }
}

/** @param own writes to the transcript. Undefined if another process has it open, or nothing is recorded. */
async function continueTranscript(
  session: ResumeHost,
  path: string,
  own: TranscriptWriter | undefined,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const transcript = readTranscript(path)
  requireSameConnection(session.options, transcript)
  const conversation = Conversation.ofTranscript(transcript)
  const { model, isModelExplicit } = session.options
  if (isModelExplicit || conversation.model === undefined) conversation.model = model
  const turns = findTurns(conversation.messages, transcript.turns)
  const { entries, failure } = await mergeWithHistory(session.client, conversation, signal)
  conversation.messages = entries.map(({ message }) => message)

  const { isRecorded, sessionsDirectory, owner, clock } = session.options
  const isShared = isRecorded && own === undefined
  const writer = own ?? TranscriptWriter.create(sessionsDirectory, owner, clock)
  const at = isoNow(clock)
  writer.append(conversation.optionsLine(at))
  const differs = entries.some(({ difference }) => difference === 'service' || difference === 'longer')
  if (isShared || differs) writer.append(conversation.conversationLine(at))
  const last = entries.at(-1)
  const turn = transcript.turns.at(-1)?.number ?? 0
  // Prompts without a reply may follow it.
  const partial = transcript.turns.findLast(({ reply }) => reply !== '')
  if (
    !isShared &&
    last?.difference === 'longer' &&
    partial &&
    last.message.content.startsWith(partial.reply)
  ) {
    const { content: text } = last.message
    writer.append({ type: 'recovered', turn: partial.number, at, text })
  }
  const withoutReply = findPromptWithoutReply(transcript, entries)
  return {
    conversation,
    writer,
    turns: isShared ? 0 : turn,
    partialReply: partialReplyOf(last && turns.get(last.message)),
    unsent: withoutReply?.user,
    show: () => {
      showEarlierMessages(session.output, session.options.showCommand(writer.id), entries, turns)
      if (withoutReply) showPromptWithoutReply(session.output, withoutReply)
      if (failure !== undefined)
        session.output.note(`[cannot compare with the history of the service: ${failure}]`)
      if (isShared)
        session.output.note(
          '[the session is open in another terminal, so this one writes a separate transcript]',
        )
    },
  }
}

/** The reply that /continue completes. */
function partialReplyOf(turn: Turn | undefined): PartialReply | undefined {
  const isEnded = turn?.status === 'complete' || turn?.status === 'unverified'
  const isAtLimit = isEnded && isTokenLimit(turn.finishReason)
  if (!turn || (isEnded && !isAtLimit)) return undefined
  return { prompt: turn.user, part: turn.reply, replyId: turn.id, isAtLimit }
}

/** The last prompt, if it got no reply and the history of the service does not contain it. */
function findPromptWithoutReply({ turns }: Transcript, entries: readonly MergedMessage[]): Turn | undefined {
  const last = turns.at(-1)
  if (last?.reply !== '' || last.status === 'complete') return undefined
  const isOnService = entries.some(
    ({ message, difference }) =>
      difference === 'service' && message.role === 'user' && message.content === last.user,
  )
  return isOnService ? undefined : last
}

function requireSameConnection(options: SessionOptions, transcript: Transcript): void {
  if (belongsTo(transcript, options.owner)) return
  const { id, profile, baseUrl } = transcript
  const name = profile === null ? undefined : options.profileNameOf(profile)
  const shown = profile && describeProfile(profile, options.profileNameOf)
  const other = [baseUrl ?? 'the embedded service', shown].filter(Boolean).join(', ')
  throw new Failure('usage', `Session ${id} belongs to another service or profile: ${other}`, {
    ...(profile
      ? { hint: name ? options.resumeCommand(id, name) : `Print it with: ${options.showCommand(id)}` }
      : { advice: [{ code: 'name_service_of_session', session: id, baseUrl }] }),
  })
}

/** Merges with the history if the service stores the conversation and the history can be read. */
async function mergeWithHistory(
  client: Client,
  { mode, contextId, messages }: Conversation,
  signal: AbortSignal,
): Promise<{ entries: MergedMessage[]; failure?: string }> {
  const ours = messages.map((message): MergedMessage => ({ message, difference: 'none' }))
  if (mode !== 'context' || contextId === undefined) return { entries: ours }
  try {
    const pages = client.history.pages({ context_id: contextId }, { signal })
    const { value: newest } = await pages.next()
    const remote = (newest?.messages ?? []).flatMap(toMessages)
    return { entries: reconcile(messages, remote, newest?.response.body?.has_more !== true) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { entries: ours, failure: error.message }
  }
}

/** The parts of a session that opening a conversation uses. */
export interface ResumeHost {
  readonly options: SessionOptions
  readonly client: Client
  readonly output: SessionOutput
  /** Undefined before the first conversation. */
  readonly recorder: Recorder | undefined
}

/** A conversation that is ready to continue. */
export interface OpenedConversation {
  conversation: Conversation
  writer: TranscriptWriter
  /** Number of turns in the transcript. */
  turns: number
  /** The last reply, if it is incomplete. */
  partialReply?: PartialReply | undefined
  /** The last prompt, if it got no reply. */
  unsent?: string | undefined
  /** Shows its last messages. */
  show(): void
}

/**
 * The turns that the messages of a conversation come from. Of equal turns, the newest belongs to the
 * newest message. Messages without a turn, such as those from the history, are omitted.
 */
function findTurns(messages: readonly Message[], turns: readonly Turn[]): Map<Message, Turn> {
  const byText = new Map<string, Turn[]>()
  for (const turn of turns) {
    const key = keyOf(turn.user, turn.reply)
    byText.set(key, [...(byText.get(key) ?? []), turn])
  }
  const found = new Map<Message, Turn>()
  for (let index = messages.length - 1; index > 0; index--) {
    const [prompt, reply] = [messages[index - 1], messages[index]]
    if (prompt?.role !== 'user' || reply?.role !== 'assistant') continue
    const turn = byText.get(keyOf(prompt.content, reply.content))?.pop()
    if (!turn) continue
    found.set(prompt, turn)
    found.set(reply, turn)
  }
  return found
}

function keyOf(prompt: string, reply: string): string {
  return JSON.stringify([prompt, reply])
}
