import type { StreamEvent } from '../../contract/resources/stream-event.ts'

/**
 * The JSON of an event, version 1, without the failure. Events from the service and from a transcript
 * have the same JSON.
 */
export function describeStreamEvent(event: StreamEvent): Record<string, unknown> {
  const version = { v: 1, type: event.type }
  switch (event.type) {
    case 'start':
      return { ...version, context_id: event.contextId, id: event.id, model: event.model }
    case 'reasoning':
    case 'delta':
      return { ...version, text: event.text }
    case 'usage':
      return { ...version, usage: event.usage }
    case 'end':
      return {
        ...version,
        complete: event.complete,
        verified: event.verified,
        finish_reason: event.finishReason,
        id: event.id,
        context_id: event.contextId,
        response: event.text,
        reason: event.reason,
      }
  }
}
