import type { View } from '../../view/view.ts'
import { unlessInterrupted } from '../interruption.ts'
import type { Output } from './output.ts'

/** Shows rows: one by one if the output format allows it, otherwise as one list. */
export async function showRows(view: View, rows: AsyncIterable<unknown>, output: Output): Promise<void> {
  const writer = output.rowWriter(view)
  const all: unknown[] = []
  for await (const row of rows) {
    if (writer) await unlessInterrupted(writer.write(row), output.streams.signal)
    else all.push(row)
  }
  writer?.end()
  if (!writer) await output.show(view, all)
}
