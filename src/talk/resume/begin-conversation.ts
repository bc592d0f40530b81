import { Failure } from '../../contract/failure.ts'
import { Recorder } from '../answer/recorder.ts'
import { Conversation } from '../conversation.ts'
import type { Session } from '../session.ts'
import type { Beginning } from '../session-options.ts'
import { listTranscripts } from '../transcript/list-transcripts.ts'
import type { Begun } from './begun.ts'
import { createTranscript } from './create-transcript.ts'
import { asMessage } from './history-message.ts'
import { resumeTranscript } from './resume-transcript.ts'
import { showEarlier } from './show-earlier.ts'

/**
 * Begins a conversation, or goes on with one. The session stays as it was until all is known.
 *
 * @throws Failure where there is no such conversation, or it is another connection's
 */
export async function beginConversation(
  session: Session,
  beginning: Beginning,
  signal: AbortSignal,
  greet = (): void => {},
): Promise<void> {
  const begun = await findBeginning(session, beginning, signal)
  session.recorder?.close()
  session.conversation = begun.conversation
  session.recorder = new Recorder(begun.writer, begun.turns, (failure) =>
    session.voice.sayFailure(failure, 'The session goes on, but nothing more of it is kept on this machine.'),
  )
  session.unsent =
    begun.unsent === undefined ? undefined : { prompt: begun.unsent, replacesLastPrompt: false }
  session.cutAnswer = begun.cutAnswer
  session.replacesLastPrompt = false
  greet()
  begun.show()
}

function findBeginning(session: Session, beginning: Beginning, signal: AbortSignal): Begun | Promise<Begun> {
  switch (beginning.kind) {
    case 'new':
      return beginNew(session)
    case 'transcript':
      return resumeTranscript(session, beginning.path, signal)
    case 'context':
      return beginWithContext(session, beginning.id, signal)
  }
}

function beginNew(session: Session): Begun {
  const conversation = new Conversation()
  conversation.model = session.options.model
  const writer = createTranscript(session)
  writer.append(conversation.optionsLine())
  return { conversation, writer, turns: 0, show: () => {} }
}

/** A conversation of which this machine may have a transcript. */
async function beginWithContext(session: Session, id: string, signal: AbortSignal): Promise<Begun> {
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
  conversation.lacksBeginning = newest?.answer.body?.has_more !== false
  conversation.messages = (newest?.messages ?? []).flatMap(asMessage)
  if (conversation.messages.length === 0) {
    throw new Failure('not_found', `The service's history has no messages of the context "${id}"`, {
      advice: [{ code: 'list_sessions' }],
    })
  }
  const writer = createTranscript(session)
  writer.append(conversation.optionsLine())
  writer.append(conversation.conversationLine())
  const entries = conversation.messages.map((message) => ({ message, mark: 'none' as const }))
  return { conversation, writer, turns: 0, show: () => showEarlier(session, entries) }
}
