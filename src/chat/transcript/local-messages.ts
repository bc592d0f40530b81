import { digestOf } from '../../client/history/message-keys.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { timeOf } from '../../contract/resources/history-order.ts'
import { belongsTo } from './list-transcripts.ts'
import { readMessages, readOutline } from './read-transcript.ts'
import { transcriptPaths } from './transcript-files.ts'
import type { Delivery } from './transcript-line.ts'
import { deliveryOf, isLocal } from './turn.ts'

interface Options {
  /** Unix time in ms. */
  since: number | undefined
  contextId: string | undefined
  /** Whether to include messages that the service may have, too. */
  hasUnknown: boolean
  /** Called for each transcript that cannot be read. */
  onUnreadable(failure: Failure): void
}

/**
 * The messages of an owner that only this machine stores, oldest first, as messages of a history. A session may begin
 * with a copy of an earlier one, whose messages are the same.
 * @throws Failure `storage` if the directory exists and cannot be read
 */
export function* readLocalMessages(
  directory: string,
  owner: ContextOwner,
  { since = Number.NEGATIVE_INFINITY, contextId, hasUnknown, onUnreadable }: Options,
): Generator<HistoryMessage> {
  const found = new Map<string, HistoryMessage>()
  for (const path of transcriptPaths(directory).sort()) {
    try {
      const outline = readOutline(path)
      const isWanted = (delivery: Delivery) => isLocal(delivery) || (delivery === 'unknown' && hasUnknown)
      if (!belongsTo(outline, owner) || !outline.turns.some((turn) => isWanted(deliveryOf(turn)))) continue
      for (const message of readMessages(path).messages) {
        const {
          id = null,
          text: content,
          role,
          at,
          contextId: context = null,
          isComplete,
          end,
          delivery,
        } = message
        const isInContext = contextId === undefined || contextId === context
        const key = digestOf([role, at, content])
        if (!isWanted(delivery) || !isInContext || Date.parse(at) < since || found.has(key)) continue
        const place = { context_id: context, session_id: outline.id }
        const more = {
          ...(isComplete ? {} : { incomplete: true }),
          ...(end && { end }),
          ...(delivery !== 'local' && { delivery }),
        }
        found.set(key, { id, content, role, created_at: at, ...more, ...place })
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      onUnreadable(error)
    }
  }
  yield* [...found.values()].sort((a, b) => timeOf(a) - timeOf(b))
}
