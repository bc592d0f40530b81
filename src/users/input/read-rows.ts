import { Failure } from '../../contract/failure.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { csvRows } from './csv-rows.ts'
import type { Input } from './input.ts'
import type { InputRow, RowRules } from './input-row.ts'
import { jsonLineRows, jsonListRows } from './object-rows.ts'

/** Maximum number of rows. State, journal, and results hold something of each row in memory. */
const maxRows = 100_000

/**
 * Reads all rows.
 *
 * @param rules.extraCheck called with each row, to report faults that depend on other rows
 * @throws Failure `refused` for a fault of the input as a whole
 */
export async function* readRows(
  { name, format, text }: Pick<Input, 'name' | 'format' | 'text'>,
  kind: RowKind,
  rules: Omit<RowRules, 'kind'> = {},
): AsyncGenerator<InputRow> {
  const readers = { csv: csvRows, jsonl: jsonLineRows, json: jsonListRows }
  const read = format === 'yaml' ? (await import('./yaml-rows.ts')).yamlRows : readers[format]
  let count = 0
  for (const row of read(text, name, { ...rules, kind })) {
    if (++count > maxRows) {
      throw new Failure('refused', `${name} has more than 100,000 rows`, { hint: 'Split the file.' })
    }
    yield row
  }
  if (count === 0) throw new Failure('refused', `${name} contains no ${kind}`)
}
