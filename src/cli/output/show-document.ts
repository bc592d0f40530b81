import { stripControls } from '../../terminal/strip-controls.ts'
import type { Streams } from './streams.ts'

/** Writes a document part by part, at the speed at which it is read; it cannot steer a terminal. */
export async function showDocument(streams: Streams, parts: Iterable<string>): Promise<void> {
  for (const part of parts) await streams.writeData(streams.isShown ? stripControls(part) : part)
}
