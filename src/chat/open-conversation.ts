import { Failure } from '../contract/failure.ts'
import { Conversation, fetchMessages, noMessages, toMessages } from './conversation.ts'
import { type Beginning, demandOwn, type OpenOptions, transcriptOwner } from './conversation-start.ts'
import {
  type JoinedMessage,
  joinWithService,
  showEarlierMessages,
  showPromptWithoutReply,
} from './earlier-messages.ts'
import type { PartialReply } from './reply/conversation-mode.ts'
import { Recorder } from './reply/recorder.ts'
import type { SessionOutput } from './session-output.ts'
import { sessionIdOf } from './transcript/transcript-files.ts'
import { TranscriptWriter } from './transcript/transcript-writer.ts'
import { endOf, isEnded, type Turn } from './transcript/turn.ts'

/** A conversation that is ready to continue. */
export interface OpenedConversation {
  conversation: Conversation
  recorder: Recorder
  /** The last reply, if it is incomplete. */
  partialReply?: PartialReply | undefined
  /** The last prompt, if it got no reply. */
  unsent?: string | undefined
  /** Shows its last messages. */
  show(output: SessionOutput): void
}

/**
 * Opens the conversation of a message, or the one that a session starts with or switches to. Requests nothing for a
 * message, except the messages of a conversation of the service that continues with parameters.
 * @throws Failure if the conversation does not exist, or belongs to another connection
 */
export async function openConversation(options: OpenOptions): Promise<OpenedConversation> {
  const { run, client, signal, model, isModelExplicit, isRecorded, onLost } = options
  const fork = options.fork === undefined ? undefined : await import('./fork-conversation.ts')
  const beginning = await (fork ? fork.forkConversation(options) : begin(options))
  const { conversation, transcript, isShared } = beginning
  try {
    if (!transcript || isModelExplicit || conversation.model === undefined) conversation.model = model
    Object.assign(conversation.parameters, options.parameters)
    const last = transcript?.turns.at(-1)
    const joined =
      options.isShown && transcript ? await joinWithService(client, conversation, signal) : undefined
    const entries = joined?.entries ?? beginning.entries ?? []
    if (joined) conversation.messages = entries.map(({ message }) => message)
    const differs = entries.some(({ difference }) => difference === 'service' || difference === 'longer')
    if (differs) conversation.usage = undefined
    const create = () => TranscriptWriter.create(run.directories.sessions, transcriptOwner(run), run.clock)
    const writer = isRecorded ? (beginning.writer ?? create()) : undefined
    const turns = writer && isShared ? 0 : (last?.number ?? 0)
    const recorder = new Recorder(writer, turns, run.clock, onLost)
    recorder.options(conversation)
    const isNew = writer !== undefined && writer !== beginning.writer
    const isComplete = conversation.messages.length === 0 && !conversation.lacksBeginning
    if (differs || (isNew && !isComplete)) recorder.conversation(conversation)
    const entry = entries.at(-1)
    // Prompts without a reply may follow it.
    const partial = transcript?.turns.findLast(({ reply }) => reply !== '')
    if (!isShared && entry?.difference === 'longer' && entry.message.turn === partial)
      recorder.recovered(entry.message.content, partial?.number)
    const withoutReply = last && findPromptWithoutReply(last, entries)
    return {
      conversation,
      recorder,
      partialReply: entry?.difference === 'longer' ? undefined : partialReplyOf(entry?.message.turn),
      unsent: withoutReply?.user,
      show: (output) => {
        for (const note of beginning.notes ?? []) if (note) output.note(note)
        showEarlierMessages(output, run.commandFor('chat', 'show', recorder.id ?? ''), entries)
        if (withoutReply) showPromptWithoutReply(output, withoutReply)
        if (joined?.failure !== undefined)
          output.note(`[cannot compare with the history of the service: ${joined.failure}]`)
        if (isRecorded && isShared)
          output.note('[the session is open in another terminal, so this one writes a separate transcript]')
      },
    }
  } catch (error) {
    beginning.writer?.close()
    throw error
  }
}

async function begin(options: OpenOptions): Promise<Beginning> {
  const { begin: from, parameters = {}, isShown, isRecorded, onLost } = options
  const conversation = new Conversation()
  const hasParameters = Object.values(parameters).some((value) => value !== undefined)
  if (hasParameters && !isShown) conversation.mode = 'completions'
  if (from.kind === 'new') return { conversation }
  // A completion is not a part of the conversation on the service.
  const leaves = from.kind === 'context' && conversation.mode === 'completions'
  const known = leaves ? undefined : await unlessLost(isShown ? undefined : onLost, () => reopen(options))
  if (known || from.kind === 'transcript') return known ?? { conversation }
  conversation.contextId = from.id
  conversation.lacksBeginning = !leaves
  if (!leaves && !isShown) return { conversation }
  if (leaves) conversation.messages = await fetchMessages(options.client, from.id, options.signal)
  else await fetchNewest(options, conversation, from.id)
  if (conversation.messages.length === 0) throw noMessages(from.id)
  const entries = conversation.messages.map((message) => ({ message, difference: 'none' as const }))
  return { conversation, entries: isRecorded || isShown ? entries : [] }
}

/** Undefined if this machine has no transcript of the conversation. */
async function reopen({
  begin: from,
  run,
  isRecorded,
  openPath,
}: OpenOptions): Promise<Beginning | undefined> {
  const { findTranscriptOfContext } = await import('./transcript/list-transcripts.ts')
  const { readTranscript } = await import('./transcript/read-transcript.ts')
  const { sessions } = run.directories
  const path =
    from.path ??
    (from.kind === 'context' ? findTranscriptOfContext(sessions, run.contextOwner(), from.id)?.path : '')
  if (path === undefined) return undefined
  if (path === openPath) throw new Failure('usage', `Session ${sessionIdOf(path)} is already open here`)
  // Before it is read, so that no turn of another process is missing.
  const writer = isRecorded ? (from.writer ?? TranscriptWriter.reopenUnlessOpen(path)) : undefined
  try {
    const transcript = readTranscript(path)
    await demandOwn(run, transcript)
    return { conversation: Conversation.ofTranscript(transcript), transcript, writer, isShared: !writer }
  } catch (error) {
    writer?.close()
    throw error
  }
}

async function fetchNewest(
  { client, signal }: OpenOptions,
  conversation: Conversation,
  id: string,
): Promise<void> {
  const { value: newest } = await client.history.pages({ context_id: id }, { signal }).next()
  // If the service omits has_more, there may be more.
  conversation.lacksBeginning = newest?.response.body?.has_more !== false
  conversation.messages = (newest?.messages ?? []).flatMap(toMessages)
}

/** @param onLost undefined if a failure is thrown */
async function unlessLost<T>(onLost: OpenOptions['onLost'] | undefined, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    const isLost = error instanceof Failure && (error.kind === 'storage' || error.kind === 'not_found')
    if (!(isLost && onLost)) throw error
    onLost(error)
    return undefined
  }
}

/** The reply that /continue completes. */
function partialReplyOf(turn: Turn | undefined): PartialReply | undefined {
  if (!turn) return undefined
  const hasEnded = isEnded(turn) && ['length', 'empty'].includes(endOf(turn) ?? '')
  if (isEnded(turn) && !hasEnded) return undefined
  return { prompt: turn.user, part: turn.reply, replyId: turn.id, hasEnded }
}

/** The last prompt, if it got no reply and the history of the service does not contain it. */
function findPromptWithoutReply(last: Turn, entries: readonly JoinedMessage[]): Turn | undefined {
  if (last.reply !== '' || last.status === 'complete') return undefined
  const isOnService = entries.some(
    ({ message, difference }) =>
      difference === 'service' && message.role === 'user' && message.content === last.user,
  )
  return isOnService ? undefined : last
}
