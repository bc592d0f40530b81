import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import type { Status } from '../../terminal/screen/status.ts'
import { type Conversation, fetchMessages } from '../conversation.ts'
import type { SessionOutput } from '../session-output.ts'
import type { Recorder } from './recorder.ts'

/** A reply of which only a part arrived, or was generated. */
export interface PartialReply {
  prompt: string
  part: string
  /** The ID of the reply, if the service sent one. */
  replyId: string | undefined
  /** Whether it ended, at its token limit or without text, so that the service has no more of it. */
  hasEnded: boolean
}

/** The parts of a session that a reply and the mode of its conversation use and change. */
export interface ConversationHost {
  /** The last reply, if it is incomplete. */
  partialReply: PartialReply | undefined
  readonly conversation: Conversation
  readonly recorder: Recorder
  readonly client: Client
  readonly output: SessionOutput
  readonly status: Status
  stoppable(work: (signal: AbortSignal) => Promise<void>): Promise<void>
}

/**
 * Switches to completions. From now on, this machine stores the conversation; the one on the
 * service stays unchanged.
 * @param why shown to the user
 * @throws Failure if the earlier messages cannot be fetched; then nothing has changed
 */
export async function switchToCompletions(session: ConversationHost, why: string): Promise<void> {
  const { conversation, recorder } = session
  if (conversation.mode === 'completions') return
  if (conversation.lacksBeginning) await fetchBeginning(session)
  if (conversation.lacksBeginning) throw new Failure('declined', 'Stopped; the conversation is unchanged')
  const { contextId, messages } = conversation
  conversation.isOnService = contextId !== undefined || messages.length === 0
  conversation.mode = 'completions'
  recorder.options(conversation)
  recorder.conversation(conversation)
  const left = contextId === undefined ? '' : ` Conversation ${contextId} of the service is unchanged.`
  session.output.note(
    `[from now on, this machine stores the conversation and sends all of it with each message: ${why}.${left}]`,
  )
}

/**
 * Switches back to the conversation on the service if the service has all messages and no parameter is set.
 * @returns whether the service stores the conversation from now on
 */
export function switchToContext({ conversation, recorder, output }: ConversationHost): boolean {
  const { mode, messages, hasParameters, isOnService } = conversation
  if (mode === 'context') return true
  if (hasParameters || !isOnService) return false
  if (messages.length === 0) conversation.contextId = undefined
  conversation.mode = 'context'
  recorder.options(conversation)
  output.note('[from now on, the service stores the conversation]')
  return true
}

async function fetchBeginning(session: ConversationHost): Promise<void> {
  const { conversation, client } = session
  const { contextId } = conversation
  if (contextId === undefined) return
  await session.stoppable(async (signal) => {
    session.status.begin('fetching the full conversation…')
    conversation.messages = await fetchMessages(client, contextId, signal)
    conversation.lacksBeginning = false
  })
}
