import { digestOf } from '../../client/history/message-keys.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { timeOf } from '../../contract/resources/history-order.ts'
import { belongsTo } from './list-transcripts.ts'
import { isLocal, readMessages, readOutline } from './read-transcript.ts'
import { transcriptPaths } from './transcript-files.ts'

interface Options {
  /** Unix time in ms. */
  since: number | undefined
  contextId: string | undefined
  /** Called for each transcript that cannot be read. */
  onUnreadable(failure: Failure): void
}

/**
 * The messages of an owner that only this machine stores, oldest first, as messages of a history. To save memory, a
 * transcript is read when its first message is due. A session may begin with a copy of another one, whose messages
 * are the same.
 *
 * @throws Failure `storage` if the directory exists and cannot be read
 */
export function* readLocalMessages(
  directory: string,
  owner: ContextOwner,
  { since = Number.NEGATIVE_INFINITY, contextId, onUnreadable }: Options,
): Generator<HistoryMessage> {
  const read = <T>(path: string, reader: (path: string) => T): T | undefined => {
    try {
      return reader(path)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      onUnreadable(error)
      return undefined
    }
  }
  const sessions: { path: string; beginsAt: number }[] = []
  for (const path of transcriptPaths(directory)) {
    const outline = read(path, readOutline)
    const first = outline && belongsTo(outline, owner) ? outline.turns.find(isLocal) : undefined
    if (first) sessions.push({ path, beginsAt: Date.parse(first.at) })
  }
  sessions.sort((a, b) => a.beginsAt - b.beginsAt || (a.path < b.path ? -1 : 1))
  const seen = new Set<string>()
  const due: HistoryMessage[] = []
  for (const { path, beginsAt } of sessions) {
    yield* due.splice(0, due.filter((message) => timeOf(message) < beginsAt).length)
    const session = read(path, readMessages)
    for (const message of session?.messages ?? []) {
      const { id = null, text: content, role, at, contextId: context = null, isComplete } = message
      const isInContext = contextId === undefined || contextId === context
      const key = digestOf([role, at, content])
      if (!message.isLocal || !isInContext || Date.parse(at) < since || seen.has(key)) continue
      seen.add(key)
      const place = { context_id: context, session_id: session?.id }
      due.push({ id, content, role, created_at: at, ...(!isComplete && { incomplete: true }), ...place })
    }
    due.sort((a, b) => timeOf(a) - timeOf(b))
  }
  yield* due
}
