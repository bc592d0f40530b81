import { Failure } from '../../contract/failure.ts'
import { csvRows } from './csv-rows.ts'
import type { Input } from './input.ts'
import type { InputRow, RowShape } from './input-row.ts'
import { jsonLineRows, jsonListRows } from './object-rows.ts'

/** Maximum number of rows. State, ledger, and results hold something of each row in memory. */
const maxRows = 100_000

/** Reads all rows. @throws Failure `refused` for a fault of the input as a whole */
export async function* readRows<R>(
  { name, format, text }: Pick<Input, 'name' | 'format' | 'text'>,
  shape: RowShape<R>,
): AsyncGenerator<InputRow<R>> {
  const readers = { csv: csvRows, jsonl: jsonLineRows, json: jsonListRows }
  const read = format === 'yaml' ? (await import('./yaml-rows.ts')).yamlRows : readers[format]
  let count = 0
  for (const row of read(text, name, shape)) {
    if (++count > maxRows) {
      throw new Failure('refused', `${name} has more than 100,000 rows`, { hint: 'Split the file.' })
    }
    yield row
  }
  if (count === 0) throw new Failure('refused', `${name} contains no ${shape.noun}`)
}
