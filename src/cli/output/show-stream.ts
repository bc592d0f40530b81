import type { StreamEnd, StreamEvent } from '../../contract/stream-event.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { describeStreamEvent } from '../../view/stream-event.ts'
import { unlessInterrupted } from '../interruption.ts'
import type { Output } from './output.ts'

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
  const { streams } = output
  const { signal, stdout } = streams.host
  let end: StreamEnd | undefined
  let printed = ''
  try {
    for await (const event of events) {
      if ('contextId' in event && event.contextId !== undefined) onContext(event.contextId)
      if (event.type === 'end') end = event
      if (!asText) await unlessInterrupted(output.showEvent(describeStreamEvent(event)), signal)
      else if (event.type === 'delta') {
        const text = streams.isShown ? stripControls(event.text) : event.text
        printed = text.at(-1) ?? printed
        // Whoever reads may have stopped for good.
        await unlessInterrupted(streams.writeData(text), signal)
      }
    }
  } finally {
    // An interrupted answer leaves the prompt on a line of its own, too; one of which nothing came has no line.
    const isOpen = end?.complete ? printed !== '\n' : !['', '\n'].includes(printed)
    const isStuck = signal.aborted && stdout.writableLength > 0
    if (asText && isOpen && !isStuck) await streams.writeData('\n')
  }
  if (!end) throw new Error('the stream had no end event')
  return end
}
