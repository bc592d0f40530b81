import { Failure } from '../../contract/failure.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { csvRows } from './csv-rows.ts'
import type { Input } from './input.ts'
import type { InputRow, RowRules } from './input-row.ts'
import { jsonLineRows, jsonListRows } from './object-rows.ts'
import { decodeChunks } from './text.ts'

/** Maximum number of rows. State, journal, and results hold something of each row in memory. */
const maxRows = 100_000

/** Maximum length of JSON and YAML, which are read as a whole, in UTF-16 units. */
const maxLength = 64 * 1024 * 1024

/**
 * Reads all rows, in batches of any size.
 *
 * @param rules.extraCheck called with each row, to report faults that depend on other rows
 * @throws Failure `refused` for a fault of the input as a whole, `conflict` if it was changed while it was read
 */
export async function* readRows(
  input: Input,
  kind: RowKind,
  rules: Omit<RowRules, 'kind'> = {},
): AsyncGenerator<readonly InputRow[]> {
  let count = 0
  for await (const rows of batchesOf(input, { ...rules, kind })) {
    count += rows.length
    if (count > maxRows) {
      throw new Failure('refused', `${input.name} has more than 100,000 rows`, { hint: 'Split the file.' })
    }
    if (rows.length > 0) yield rows
  }
  if (count === 0) throw new Failure('refused', `${input.name} contains no ${kind}`)
}

async function* batchesOf(input: Input, rules: RowRules): AsyncGenerator<InputRow[]> {
  const { name, format } = input
  const chunks = decodeChunks(input)
  if (format === 'csv') yield* csvRows(chunks, name, rules)
  else if (format === 'jsonl') yield* jsonLineRows(chunks, name, rules)
  else {
    const text = await wholeText(chunks, name)
    const read = format === 'json' ? jsonListRows : (await import('./yaml-rows.ts')).yamlRows
    yield [...read(text, name, rules)]
  }
}

async function wholeText(chunks: AsyncIterable<string>, name: string): Promise<string> {
  const texts: string[] = []
  let length = 0
  for await (const chunk of chunks) {
    texts.push(chunk)
    length += chunk.length
    if (length <= maxLength) continue
    throw new Failure('refused', `${name} is larger than 64 MiB`, {
      hint: 'JSON and YAML are read as a whole. Split the file, or convert it to JSON lines (.jsonl).',
    })
  }
  return texts.join('')
}
