import type { StreamEnd, StreamEvent } from '../../contract/stream-event.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { describeStreamEvent } from '../../view/stream-event.ts'
import { unlessInterrupted } from '../interruption.ts'
import type { Output } from '../output/output.ts'

/**
 * Prints a reply while it arrives: its text, or one JSON event per line.
 *
 * @returns how the stream ended; the part of a truncated reply that arrived has been printed
 */
export async function showReply(
  events: AsyncIterable<StreamEvent>,
  { output, asText }: { output: Output; asText: boolean },
): Promise<StreamEnd> {
  const { streams } = output
  const { signal } = streams
  const { stdout } = streams.host
  let end: StreamEnd | undefined
  let printed = ''
  try {
    for await (const event of events) {
      if (event.type === 'end') end = event
      if (!asText) await unlessInterrupted(output.showEvent(describeStreamEvent(event)), signal)
      else if (event.type === 'delta') {
        const text = streams.isShown ? stripControls(event.text) : event.text
        printed = text.at(-1) ?? printed
        // The reader may have stopped.
        await unlessInterrupted(streams.writeData(text), signal)
      }
    }
  } finally {
    // The shell prompt starts on a new line, also after an interrupted reply. An empty reply adds no line.
    const isOpen = end?.complete ? printed !== '\n' : !['', '\n'].includes(printed)
    const isStuck = signal.aborted && stdout.writableLength > 0
    if (asText && isOpen && !isStuck) await streams.writeData('\n')
  }
  if (!end) throw new Error('the stream had no end event')
  return end
}
