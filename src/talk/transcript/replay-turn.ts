import type { StreamEnd, StreamEvent } from '../../contract/stream-event.ts'
import type { Turn } from './transcript.ts'

/**
 * The events of an answer, as the service's stream gave them; one that never began has a `start`
 * and an `end`, too.
 */
export function* replayTurn(turn: Turn): Generator<StreamEvent> {
  if (turn.events[0]?.type !== 'start') yield { type: 'start' }
  yield* turn.events
  yield endOf(turn)
}

function endOf(turn: Turn): StreamEnd {
  const { status, finishReason, id, contextId, answer, reason } = turn
  return {
    type: 'end',
    complete: status === 'complete' || status === 'unverified',
    verified: status === 'complete',
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(id === undefined ? {} : { id }),
    ...(contextId === undefined ? {} : { contextId }),
    text: answer,
    ...(reason === undefined ? {} : { reason }),
  }
}
