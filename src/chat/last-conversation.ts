import { statSync } from 'node:fs'
import { type ContextOwner, readLastContext } from '../config/last-context.ts'
import { Failure } from '../contract/failure.ts'
import type { Directories } from '../system/files/directories.ts'
import type { ConversationStart } from './conversation-start.ts'
import {
  belongsTo,
  findTranscriptOfContext,
  listTranscripts,
  summarize,
} from './transcript/list-transcripts.ts'
import { openTranscriptPaths, TranscriptWriter } from './transcript/transcript-writer.ts'

/**
 * Finds the conversation that this service and profile used last: one that the service stores, or one that only this
 * machine stores. Undefined if there is none. No other process can open its transcript until the writer is closed.
 * @param needsReply ignores sessions in which no reply has begun
 * @param isRecorded whether the transcript is continued, and therefore locked
 * @throws Failure `storage` if the transcripts cannot be listed
 */
export function findLastConversation(
  directories: Directories,
  owner: ContextOwner,
  { needsReply, isRecorded }: { needsReply: boolean; isRecorded: boolean },
) {
  const { sessions } = directories
  const pointer = readLastContext(directories, owner)
  const [newest] = listTranscripts(sessions, owner, {
    limit: 1,
    isWanted: ({ delivery, mode, contextId }) =>
      delivery !== 'not_sent' && (!needsReply || mode === 'completions' || contextId !== undefined),
  })
  // A conversation without a transcript, as with --no-save, has a newer pointer.
  const last = newest && !(pointer && pointer.usedAt > statSync(newest.path).mtimeMs) ? undefined : pointer
  // The service does not know a conversation that is stored only on this machine.
  const id = last?.id ?? (newest?.mode === 'context' ? newest.contextId : undefined)
  const path = last ? findTranscriptOfContext(sessions, owner, last.id)?.path : newest?.path
  const begin: Exclude<ConversationStart, { kind: 'new' }> | undefined =
    id !== undefined
      ? { kind: 'context', id, path }
      : path === undefined
        ? undefined
        : { kind: 'transcript', path }
  if (!begin) return undefined
  if (isRecorded && path !== undefined) begin.writer = reopen(path)
  // Read after it is locked, so that no turn is missing.
  const summary = path === undefined ? undefined : summarize(path)
  // Another process may have the conversation open with a separate transcript.
  const isOpenElsewhere = openTranscriptPaths(sessions).some((one) => {
    if (one === path || begin.kind === 'transcript') return one === path && !begin.writer
    const other = summarize(one)
    return other?.contextId === begin.id && other.mode === 'context' && belongsTo(other, owner)
  })
  const usedAt = Date.parse(last?.at ?? summary?.updatedAt ?? '') || 0
  return { begin, summary, usedAt, isOpenElsewhere }
}

/** Undefined if another process has it open, or if it cannot be opened: then a later attempt says why. */
function reopen(path: string): TranscriptWriter | undefined {
  try {
    return TranscriptWriter.reopen(path)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
