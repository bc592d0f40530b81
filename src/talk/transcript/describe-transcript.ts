import { describeStreamEvent } from '../../view/stream-event.ts'
import { replayTurn } from './replay-turn.ts'
import type { Transcript, Turn } from './transcript.ts'

/** A session as one object, version 1, with the interface's spelling; what is not known is left out. */
export function describeTranscript(transcript: Transcript): Record<string, unknown> {
  const { id, at, updatedAt, profile, baseUrl, name, mode, contextId, model, system } = transcript
  return {
    v: 1,
    id,
    at,
    updated_at: updatedAt,
    profile,
    base_url: baseUrl,
    name,
    mode,
    context_id: contextId,
    model,
    system,
    temperature: transcript.temperature,
    max_tokens: transcript.maxTokens,
    turns: transcript.turns.map(describeTurn),
  }
}

function describeTurn(turn: Turn): Record<string, unknown> {
  return {
    turn: turn.number,
    at: turn.at,
    user: turn.user,
    answer: turn.answer,
    status: turn.status,
    context_id: turn.contextId,
    id: turn.id,
    model: turn.model,
    usage: turn.usage,
    finish_reason: turn.finishReason,
    reason: turn.reason,
    first_ms: turn.firstMs,
    total_ms: turn.totalMs,
  }
}

/** A session as public events: for each turn the question, and what the stream of the answer gave. */
export function* describeEvents({ turns }: Transcript): Generator<Record<string, unknown>> {
  for (const turn of turns) {
    yield { v: 1, type: 'user', text: turn.user }
    for (const event of replayTurn(turn)) yield describeStreamEvent(event)
  }
}
