import type { StreamEnd, StreamEvent } from '../../client/stream/stream-event.ts'
import { stripControls } from '../../view/strip-controls.ts'
import type { Output } from './output.ts'
import { writeData } from './streams.ts'

/**
 * Prints an answer while it comes: its bare text, or one JSON event a line.
 *
 * @param onContext is told the conversation as soon as it is known, for the end may never come
 * @returns how it ended; a truncated answer has been printed as far as it came
 */
export async function showStream(
  events: AsyncIterable<StreamEvent>,
  { output, asText, onContext }: { output: Output; asText: boolean; onContext(id: string): void },
): Promise<StreamEnd> {
  let end: StreamEnd | undefined
  let printed = ''
  try {
    for await (const event of events) {
      if ('contextId' in event && event.contextId !== undefined) onContext(event.contextId)
      if (event.type === 'end') end = event
      if (!asText) await output.showEvent(describe(event))
      else if (event.type === 'delta') {
        const text = process.stdout.isTTY ? stripControls(event.text) : event.text
        printed = text.at(-1) ?? printed
        await writeData(text)
      }
    }
  } finally {
    // An interrupted answer leaves the prompt on a line of its own, too.
    if (asText && (end ? printed !== '\n' : !['', '\n'].includes(printed))) await writeData('\n')
  }
  if (!end) throw new Error('the stream had no end event')
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
