import { type ContextOwner, lastContextTime, readLastContext } from '../config/last-context.ts'
import type { Directories } from '../system/files/directories.ts'
import type { ConversationStart } from './session-options.ts'
import { listTranscripts } from './transcript/list-transcripts.ts'

/**
 * Finds the conversation that this service and profile used last: one that the service stores, or one that
 * only this machine stores. Undefined if there is none.
 *
 * @param needsReply ignores sessions in which no reply has begun
 * @throws Failure `storage` if the transcripts cannot be listed
 */
export function findLastConversation(
  directories: Directories,
  owner: ContextOwner,
  { needsReply }: { needsReply: boolean },
): ConversationStart | undefined {
  const contextId = readLastContext(directories, owner)
  const [newest] = listTranscripts(directories.sessions, owner, {
    limit: 1,
    isWanted: ({ mode, contextId }) => !needsReply || mode === 'completions' || contextId !== undefined,
  })
  // The service does not know a conversation that is stored only on this machine.
  const isStoredHere = newest?.mode === 'completions' || newest?.contextId === undefined
  const isLast =
    contextId === undefined || Date.parse(newest?.updatedAt ?? '') >= lastContextTime(directories)
  if (newest && isStoredHere && isLast) return { kind: 'transcript', path: newest.path }
  return contextId === undefined ? undefined : { kind: 'context', id: contextId }
}
