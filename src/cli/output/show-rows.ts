import { unlessAborted } from '../../system/unless-aborted.ts'
import type { View } from '../../view/format/view.ts'
import type { Output } from './output.ts'

const batchSize = 100

/** Shows rows: some at once if the output format allows it, otherwise as one list. */
export async function showRows(view: View, rows: AsyncIterable<unknown>, output: Output): Promise<void> {
  const writer = output.rowWriter(view, true)
  const held: unknown[] = []
  for await (const row of rows) {
    held.push(row)
    if (!writer || held.length < batchSize) continue
    await unlessAborted(writer.write(held.splice(0)), output.streams.signal)
  }
  if (!writer) return output.show(view, held)
  await unlessAborted(writer.write(held), output.streams.signal)
  await writer.end()
}
