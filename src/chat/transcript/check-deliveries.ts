import type { Client } from '../../client/client.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { timeOf } from '../../contract/resources/history-order.ts'
import type { Run } from '../../run/run.ts'
import type { Recorder } from '../reply/recorder.ts'
import { belongsTo } from './list-transcripts.ts'
import { readOutline } from './read-transcript.ts'
import { transcriptPaths } from './transcript-files.ts'
import type { Delivery, TranscriptLine } from './transcript-line.ts'
import { TranscriptWriter } from './transcript-writer.ts'
import { deliveryOf, type Turn } from './turn.ts'

/** The service and this machine may date the same message differently by this time, in ms. */
const maxSkew = 10 * 60_000

interface Candidate {
  path: string
  turn: Turn
  /** Whether the history has the turn. A message with the same text at another time may be another one. */
  found: 'yes' | 'perhaps' | 'no'
}

/**
 * Compares the turns of an owner that were sent to a conversation of the service with the messages that the service has
 * now, and records their deliveries. A transcript that is open is left for the next time.
 */
export class DeliveryCheck {
  /** The users of the sessions of the owner, as far as they are known. */
  readonly users = new Set<string>()
  readonly #candidates: Candidate[] = []
  readonly #byId: Map<unknown, Candidate[]>
  readonly #byPrompt: Map<unknown, Candidate[]>

  /**
   * @param user of the credential in use, who does not see the conversations of others
   * @param contextId limits it to a conversation
   */
  constructor(directory: string, owner: ContextOwner, user: string | undefined, contextId?: string) {
    for (const path of transcriptPaths(directory)) {
      try {
        const outline = readOutline(path)
        if (!belongsTo(outline, owner)) continue
        if (outline.user !== undefined) this.users.add(outline.user)
        if (outline.user !== undefined && outline.user !== user) continue
        for (const turn of outline.turns) {
          if (turn.mode !== 'context' || deliveryOf(turn) === 'not_sent') continue
          if (contextId !== undefined && turn.contextId !== contextId) continue
          this.#candidates.push({ path, turn, found: 'no' })
        }
      } catch (error) {
        if (!(error instanceof Failure)) throw error
      }
    }
    this.#byId = Map.groupBy(this.#candidates, ({ turn }) => turn.id)
    this.#byPrompt = Map.groupBy(this.#candidates, ({ turn }) => turn.user)
  }

  see(messages: readonly HistoryMessage[]): void {
    if (this.#candidates.length === 0) return
    for (const { id, role, content, context_id: contextId, ...message } of messages) {
      for (const each of id == null ? [] : (this.#byId.get(id) ?? [])) each.found = 'yes'
      if (role !== 'user') continue
      for (const each of this.#byPrompt.get(content) ?? []) {
        if (each.found === 'yes') continue
        const { turn } = each
        const isElsewhere = contextId != null && turn.contextId !== undefined && contextId !== turn.contextId
        if (isElsewhere) continue
        const isThen = Math.abs(timeOf(message) - Date.parse(turn.at)) <= maxSkew
        each.found = isThen ? 'yes' : 'perhaps'
      }
    }
  }

  /**
   * @param isWhole whether the service has no other messages of these conversations
   * @param open records the transcript that this process has open
   * @returns whether it has none of the turns
   */
  settle(isWhole: boolean, open?: Recorder): boolean {
    const changed = Map.groupBy(
      this.#candidates.flatMap((each) => {
        const delivery: Delivery = each.found === 'yes' ? 'stored' : 'local'
        const isDecided = each.found === 'yes' || (each.found === 'no' && isWhole)
        return isDecided && delivery !== deliveryOf(each.turn) ? { ...each, delivery } : []
      }),
      ({ path }) => path,
    )
    for (const [path, turns] of changed) {
      const lines = turns.map(
        ({ turn, delivery }) => ({ type: 'delivery', turn: turn.number, delivery }) as const,
      )
      try {
        if (path === open?.path) for (const line of lines) open.record(line)
        else annotate(path, lines)
      } catch (error) {
        // The next check tries again.
        if (!(error instanceof Failure)) throw error
      }
    }
    return this.#candidates.length > 0 && isWhole && this.#candidates.every(({ found }) => found === 'no')
  }
}

function annotate(path: string, lines: readonly TranscriptLine[]): void {
  const writer = TranscriptWriter.reopenUnlessOpen(path)
  try {
    writer?.annotate(lines)
  } finally {
    writer?.close()
  }
}

/**
 * After a 404, asks the service if it still has a conversation.
 * @returns whether only this machine has messages of it
 */
export async function isGone(
  { directories, contextOwner, knownUser, signal }: Run,
  client: Client,
  contextId: string,
  open?: Recorder,
): Promise<boolean> {
  const check = new DeliveryCheck(directories.sessions, contextOwner(), knownUser(), contextId)
  try {
    const { body } = await client.history.page({ context_id: contextId }, { signal })
    const messages = Array.isArray(body?.messages) ? body.messages : undefined
    check.see(messages ?? [])
    return check.settle(messages?.length === 0 && body?.has_more !== true, open)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.kind !== 'not_found') return false
    // A service may have no history at all.
    const hasHistory = await client.history.page({ limit: 1 }, { signal }).then(
      () => true,
      () => false,
    )
    return check.settle(hasHistory, open)
  }
}
