import type { Client } from '../../client/client.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { Conversation, type Parameters } from '../conversation.ts'
import { fetchMessages, noMessages } from '../fetch-messages.ts'
import { Recorder } from '../reply/recorder.ts'
import type { ConversationStart } from '../session-options.ts'
import type { Transcript } from '../transcript/transcript.ts'
import { TranscriptWriter } from '../transcript/transcript-writer.ts'
import { Exchange } from './exchange.ts'

interface OpenOptions {
  client: Client
  begin: ConversationStart
  owner: ContextOwner
  model: string | undefined
  /** Whether the command line names the model. */
  isModelExplicit: boolean
  /** Those that are given replace those of an earlier conversation. */
  parameters: Parameters
  /** Directory of the transcripts. Undefined if nothing is recorded. */
  sessionsDirectory: (() => string) | undefined
  /** Called at most once. The exchange continues without being recorded. */
  onLost(failure: Failure): void
  clock: Clock
  signal: AbortSignal
}

/**
 * Opens a conversation for one message. Requests nothing, except the messages of a context that continues
 * with parameters.
 *
 * @throws Failure if the conversation cannot be read; never because the exchange cannot be recorded
 */
export async function openExchange(options: OpenOptions): Promise<Exchange> {
  const { client, clock, signal, onLost } = options
  const { conversation, earlier } = await openConversation(options)
  const opened = openWriter(options, conversation, earlier)
  const recorder = new Recorder(opened?.writer, opened?.turns ?? 0, clock, onLost)
  return new Exchange({ client, conversation, recorder, clock, signal })
}

interface Opened {
  conversation: Conversation
  /** The transcript to which the exchange is appended, and its path. Undefined for a new one. */
  earlier?: { path: string; transcript: Omit<Transcript, 'conversation'> } | undefined
}

async function openConversation(options: OpenOptions): Promise<Opened> {
  const { begin, model, isModelExplicit, parameters } = options
  if (begin.kind === 'transcript') {
    const { readTranscript } = await import('../transcript/read-transcript.ts')
    const transcript = readTranscript(begin.path)
    const conversation = Conversation.ofTranscript(transcript)
    if (isModelExplicit || conversation.model === undefined) conversation.model = model
    Object.assign(conversation.parameters, parameters)
    return { conversation, earlier: { path: begin.path, transcript } }
  }
  const conversation = new Conversation()
  conversation.model = model
  conversation.parameters = parameters
  if (begin.kind === 'context') conversation.contextId = begin.id
  if (conversation.hasParameters) conversation.mode = 'completions'
  if (begin.kind === 'new') return { conversation }
  if (conversation.mode === 'context') {
    return { conversation, earlier: await findOwnTranscript(options, begin.id) }
  }
  conversation.messages = await fetchMessages(options.client, begin.id, options.signal)
  if (conversation.messages.length === 0) throw noMessages(begin.id)
  return { conversation }
}

/** The transcript of a context, if this machine has one. */
async function findOwnTranscript(
  { sessionsDirectory, owner, onLost }: OpenOptions,
  contextId: string,
): Promise<Opened['earlier']> {
  if (sessionsDirectory === undefined) return undefined
  const { findTranscriptOfContext } = await import('../transcript/list-transcripts.ts')
  const { readHeadAndTail } = await import('../transcript/read-transcript.ts')
  return unlessLost(onLost, () => {
    const found = findTranscriptOfContext(sessionsDirectory(), owner, contextId)
    return found && { path: found.path, transcript: readHeadAndTail(found.path) }
  })
}

/** Continues the transcript, or begins a new one if there is none or another process has it open. */
function openWriter(
  { sessionsDirectory, owner, clock, onLost }: OpenOptions,
  conversation: Conversation,
  earlier: Opened['earlier'],
): { writer: TranscriptWriter; turns: number } | undefined {
  if (sessionsDirectory === undefined) return undefined
  return unlessLost(onLost, () => {
    const existing = earlier && reopen(earlier)
    const { profile = null, baseUrl = null } = owner
    const writer = existing ?? TranscriptWriter.create(sessionsDirectory(), { profile, baseUrl }, clock)
    const at = isoNow(clock)
    writer.append(conversation.optionsLine(at))
    const isNew = existing === undefined
    const { messages, contextId, mode } = conversation
    // The service has the earlier messages.
    if (isNew && mode === 'context') conversation.lacksBeginning = contextId !== undefined
    if (isNew && (messages.length > 0 || conversation.lacksBeginning)) {
      writer.append(conversation.conversationLine(at))
    }
    return { writer, turns: existing ? (earlier?.transcript.turns.at(-1)?.number ?? 0) : 0 }
  })
}

function reopen({ path, transcript }: NonNullable<Opened['earlier']>): TranscriptWriter | undefined {
  try {
    return TranscriptWriter.reopen(path, transcript)
  } catch (error) {
    if (error instanceof Failure && error.kind === 'conflict') return undefined
    throw error
  }
}

function unlessLost<T>(onLost: (failure: Failure) => void, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    onLost(error)
    return undefined
  }
}
