import type { StreamEnd, StreamEvent } from '../../client/stream/stream-event.ts'
import { stripControls } from '../../view/strip-controls.ts'
import type { Output } from './output.ts'
import { writeData } from './streams.ts'

/**
 * Prints an answer while it comes: its bare text, or one JSON event a line.
 *
 * @returns how it ended; a truncated answer has been printed as far as it came
 */
export async function showStream(
  events: AsyncIterable<StreamEvent>,
  output: Output,
  asText: boolean,
): Promise<StreamEnd> {
  let end: StreamEnd | undefined
  let lastCharacter = ''
  for await (const event of events) {
    if (event.type === 'end') end = event
    if (!asText) await output.showEvent(describe(event))
    else if (event.type === 'delta') {
      const text = process.stdout.isTTY ? stripControls(event.text) : event.text
      lastCharacter = text.at(-1) ?? lastCharacter
      await writeData(text)
    }
  }
  if (!end) throw new Error('the stream had no end event')
  if (asText && lastCharacter !== '\n') await writeData('\n')
  return end
}

/** The public form of an event, version 1: the interface's spelling, and no error object. */
function describe(event: StreamEvent): Record<string, unknown> {
  const version = { v: 1, type: event.type }
  switch (event.type) {
    case 'start':
      return { ...version, context_id: event.contextId, id: event.id, model: event.model }
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
