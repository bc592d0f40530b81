import { Failure } from '../../contract/failure.ts'
import { isoNow } from '../../system/clock.ts'
import { Conversation, fetchMessages, noMessages, toMessages } from '../conversation.ts'
import type { ConversationHost, PartialReply } from '../reply/conversation-mode.ts'
import type { Recorder } from '../reply/recorder.ts'
import type { ConversationStart, SessionOptions } from '../session-options.ts'
import { linesThrough, readForkSource, readMessageNumber } from '../transcript/fork-transcript.ts'
import { belongsTo, findTranscriptOfContext } from '../transcript/list-transcripts.ts'
import { buildTranscript, readTranscript } from '../transcript/read-transcript.ts'
import {
  cleanName,
  describeProfile,
  endOf,
  isEnded,
  nameOf,
  type Transcript,
  type Turn,
} from '../transcript/transcript.ts'
import { TranscriptWriter } from '../transcript/transcript-writer.ts'
import {
  fetchBeginning,
  findTurns,
  type MergedMessage,
  mergeWithHistory,
  showEarlierMessages,
  showPromptWithoutReply,
} from './earlier-messages.ts'

/**
 * Opens the conversation that a session starts with or switches to. The session itself is not changed.
 * @throws Failure if the conversation does not exist, or belongs to another connection
 */
export function openConversation(
  session: ResumeHost,
  beginning: ConversationStart,
  signal: AbortSignal,
  fork?: string | true,
): OpenedConversation | Promise<OpenedConversation> {
  if (fork !== undefined) return forkConversation(session, beginning, fork, signal)
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
  const { directories, owner, clock } = session.options
  const writer = TranscriptWriter.create(directories.sessions, owner, clock)
  writer.append(conversation.optionsLine(isoNow(clock)))
  return { conversation, writer, turns: 0, show: () => {} }
}

/** Continues a conversation of the service, from its transcript on this machine if there is one. */
async function startFromContext(
  session: ResumeHost,
  { id, path, writer: held }: Extract<ConversationStart, { kind: 'context' }>,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const { owner, directories, clock } = session.options
  const known = path ?? findTranscriptOfContext(directories.sessions, owner, id)?.path
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
  const writer = TranscriptWriter.create(directories.sessions, owner, clock)
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
  return closeIfFailed(own, () => {
    const transcript = readTranscript(path)
    requireSameConnection(session.options, transcript)
    return continueTranscript(session, transcript, own, signal)
  })
}

async function closeIfFailed<T>(writer: TranscriptWriter | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    writer?.close()
    throw error
  }
}

/**
 * Begins with a copy of a conversation. The original is only read, so it may be open in another process. The service
 * cannot continue from an earlier message, so this machine stores the fork.
 * @throws Failure `usage` if the conversation has no such message, or belongs to another connection
 */
async function forkConversation(
  session: ResumeHost,
  from: ConversationStart,
  through: string | true,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const { client, options, output } = session
  const { isRecorded, directories, owner, clock, showCommand } = options
  const at = isoNow(clock)
  const fetched = async (contextId: string) =>
    Object.assign(new Conversation(), { contextId, messages: await fetchMessages(client, contextId, signal) })
  const inMemory =
    from.kind === 'context' && from.path === undefined ? await fetched(from.id) : session.conversation
  const { lines, whole } = readForkSource(from.path ?? inMemory, at)
  // A conversation in memory has no first line.
  if (whole.at !== '') requireSameConnection(options, whole)
  const hint = `See the numbers with /history, or with: ${showCommand(whole.id)}`
  const last = readMessageNumber(through, whole, hint)
  const kept = linesThrough(lines, last)
  const conversation = Conversation.ofTranscript(buildTranscript(whole.id, kept))
  const { mode, lacksBeginning } = conversation
  if (lacksBeginning) await fetchBeginning(client, conversation, signal)
  Object.assign(conversation, { mode: 'completions', contextId: undefined })
  const original = nameOf(whole) ?? whole.id
  const name = original.endsWith(' (fork)') ? original : cleanName(`${original} (fork)`)
  kept.push({ type: 'name', name }, conversation.optionsLine(at))
  if (lacksBeginning) kept.push(conversation.conversationLine(at))
  const forkedFrom = whole.id || undefined
  const writer = isRecorded
    ? TranscriptWriter.create(directories.sessions, owner, clock, forkedFrom)
    : undefined
  return closeIfFailed(writer, async () => {
    writer?.append(kept)
    const fork = { ...buildTranscript(whole.id, kept), forkedFrom }
    const opened = await continueTranscript(session, fork, writer, signal)
    const part = last === whole.turns.at(-1)?.number ? 'all messages' : `your messages up to number ${last}`
    const notes = [
      `Fork of ${forkedFrom ?? 'this session'}, with ${part}.`,
      mode === 'context' && '[this machine stores the fork and sends all of it with each message]',
      fork.lacksBeginning &&
        '[only the service has the messages before the first one, and they cannot be fetched]',
    ]
    const show = () => {
      for (const note of notes) if (note) output.note(note)
      opened.show()
    }
    return { ...opened, show }
  })
}

/** @param own writes to the transcript. Undefined if another process has it open, or nothing is recorded. */
async function continueTranscript(
  session: ResumeHost,
  transcript: Transcript,
  own: TranscriptWriter | undefined,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const conversation = Conversation.ofTranscript(transcript)
  const { model, isModelExplicit } = session.options
  if (isModelExplicit || conversation.model === undefined) conversation.model = model
  const turns = findTurns(conversation.messages, transcript.turns)
  const { entries, failure } = await mergeWithHistory(session.client, conversation, signal)
  conversation.messages = entries.map(({ message }) => message)

  const { isRecorded, directories, owner, clock } = session.options
  const isShared = isRecorded && own === undefined
  const writer = own ?? TranscriptWriter.create(directories.sessions, owner, clock)
  const at = isoNow(clock)
  writer.append(conversation.optionsLine(at))
  const differs = entries.some(({ difference }) => difference === 'service' || difference === 'longer')
  if (differs) conversation.usage = undefined
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
  if (!turn) return undefined
  const hasEnded = isEnded(turn.status) && ['length', 'empty'].includes(endOf(turn) ?? '')
  if (isEnded(turn.status) && !hasEnded) return undefined
  return { prompt: turn.user, part: turn.reply, replyId: turn.id, hasEnded }
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

/** The parts of a session that opening a conversation uses. */
export interface ResumeHost extends Pick<ConversationHost, 'conversation' | 'client' | 'output'> {
  readonly options: SessionOptions
  /** Undefined before the first conversation. */
  readonly recorder: Recorder | undefined
}

/** A conversation that is ready to continue. */
export interface OpenedConversation {
  conversation: Conversation
  writer: TranscriptWriter
  turns: number
  /** The last reply, if it is incomplete. */
  partialReply?: PartialReply | undefined
  /** The last prompt, if it got no reply. */
  unsent?: string | undefined
  /** Shows its last messages. */
  show(): void
}
