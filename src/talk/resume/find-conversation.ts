import { Failure } from '../../contract/failure.ts'
import { isoNow } from '../../system/clock.ts'
import { asMessage, Conversation } from '../conversation.ts'
import type { Beginning } from '../session-options.ts'
import { listTranscripts } from '../transcript/list-transcripts.ts'
import { type Begun, createTranscript, type Resuming, resumeTranscript } from './resume-transcript.ts'
import { showEarlier } from './show-earlier.ts'

/**
 * Finds or makes the conversation that a session begins with. Nothing of the session has changed yet.
 *
 * @throws Failure where there is no such conversation, or it is another connection's
 */
export function findConversation(
  session: Resuming,
  beginning: Beginning,
  signal: AbortSignal,
): Begun | Promise<Begun> {
  switch (beginning.kind) {
    case 'new':
      return beginNew(session)
    case 'transcript':
      return resumeTranscript(session, beginning.path, signal)
    case 'context':
      return beginWithContext(session, beginning.id, signal)
  }
}

function beginNew(session: Resuming): Begun {
  const conversation = new Conversation()
  conversation.model = session.options.model
  const writer = createTranscript(session.options)
  writer.append(conversation.optionsLine(isoNow(session.options.clock)))
  return { conversation, writer, turns: 0, show: () => {} }
}

/** A conversation of which this machine may have a transcript. */
async function beginWithContext(session: Resuming, id: string, signal: AbortSignal): Promise<Begun> {
  const { owner, sessionsDirectory } = session.options
  const known = listTranscripts(sessionsDirectory, owner).find(
    ({ contextId, mode }) => contextId === id && mode === 'context',
  )
  if (known) return resumeTranscript(session, known.path, signal)
  const pages = session.client.history.pages({ context_id: id }, { signal })
  const { value: newest } = await pages.next()
  const conversation = new Conversation()
  conversation.model = session.options.model
  conversation.contextId = id
  // A service that does not say may well have more.
  conversation.lacksBeginning = newest?.response.body?.has_more !== false
  conversation.messages = (newest?.messages ?? []).flatMap(asMessage)
  if (conversation.messages.length === 0) {
    throw new Failure('not_found', `No messages of context "${id}" in the history of the service`, {
      advice: [{ code: 'list_sessions' }],
    })
  }
  const writer = createTranscript(session.options)
  const at = isoNow(session.options.clock)
  writer.append(conversation.optionsLine(at))
  writer.append(conversation.conversationLine(at))
  const entries = conversation.messages.map((message) => ({ message, mark: 'none' as const }))
  return {
    conversation,
    writer,
    turns: 0,
    show: () => showEarlier(session.output, session.options.showCommand(writer.id), entries),
  }
}
