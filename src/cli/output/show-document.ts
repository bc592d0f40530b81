import { stripControls } from '../../terminal/strip-controls.ts'
import { writeData } from './streams.ts'

/** Writes a document part by part, at the speed at which it is read; it cannot steer a terminal. */
export async function showDocument(parts: Iterable<string>): Promise<void> {
  for (const part of parts) await writeData(process.stdout.isTTY ? stripControls(part) : part)
}
