import { isoNow } from '../../system/clock.ts'
import { Conversation, toMessages } from '../conversation.ts'
import { noMessages } from '../fetch-messages.ts'
import type { ConversationStart } from '../session-options.ts'
import { findTranscriptOfContext } from '../transcript/list-transcripts.ts'
import {
  createTranscriptWriter,
  type OpenedConversation,
  type ResumeHost,
  resumeTranscript,
} from './resume-transcript.ts'
import { showEarlierMessages } from './show-earlier-messages.ts'

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
      return resumeTranscript(session, beginning.path, signal)
    case 'context':
      return startFromContext(session, beginning.id, signal)
  }
}

function startNew(session: ResumeHost): OpenedConversation {
  const conversation = new Conversation()
  conversation.model = session.options.model
  const writer = createTranscriptWriter(session.options)
  writer.append(conversation.optionsLine(isoNow(session.options.clock)))
  return { conversation, writer, turns: 0, show: () => {} }
}

/** Continues a conversation of the service, from its transcript on this machine if there is one. */
async function startFromContext(
  session: ResumeHost,
  id: string,
  signal: AbortSignal,
): Promise<OpenedConversation> {
  const { owner, sessionsDirectory } = session.options
  const known = findTranscriptOfContext(sessionsDirectory, owner, id)
  if (known) return resumeTranscript(session, known.path, signal)
  const pages = session.client.history.pages({ context_id: id }, { signal })
  const { value: newest } = await pages.next()
  const conversation = new Conversation()
  conversation.model = session.options.model
  conversation.contextId = id
  // If the service omits has_more, there may be more.
  conversation.lacksBeginning = newest?.response.body?.has_more !== false
  conversation.messages = (newest?.messages ?? []).flatMap(toMessages)
  if (conversation.messages.length === 0) throw noMessages(id)
  const writer = createTranscriptWriter(session.options)
  const at = isoNow(session.options.clock)
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
