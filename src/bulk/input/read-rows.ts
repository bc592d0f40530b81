import { Failure } from '../../contract/failure.ts'
import type { JudgeMore } from '../rows/judge-row.ts'
import type { RowKind } from '../rows/user-row.ts'
import { CsvRows } from './csv-rows.ts'
import { decodeText } from './decode-text.ts'
import type { Input } from './input.ts'
import type { InputRow, RowReader } from './input-row.ts'
import { JsonLineRows } from './json-line-rows.ts'
import { JsonListRows } from './json-list-rows.ts'
import { YamlRows } from './yaml-rows.ts'

/**
 * All rows, in batches of no certain size.
 * @param judgeMore adds faults of a row that can be seen in others only
 * @throws Failure `refused` for what is wrong with the input as a whole, `conflict` when it was
 *   changed while it was read
 */
export async function* readRows(
  input: Input,
  kind: RowKind,
  judgeMore?: JudgeMore,
): AsyncGenerator<readonly InputRow[]> {
  const reader = await readerOf(input, kind, judgeMore)
  let count = 0
  for await (const text of decodeText(input)) {
    const rows = reader.take(text, false)
    count += rows.length
    if (rows.length > 0) yield rows
  }
  const rows = reader.take('', true)
  if (count + rows.length === 0) throw new Failure('refused', `${input.name} contains no ${kind}`)
  if (rows.length > 0) yield rows
}

async function readerOf(
  { name, format }: Input,
  kind: RowKind,
  more: JudgeMore | undefined,
): Promise<RowReader> {
  switch (format) {
    case 'csv':
      return new CsvRows(name, kind, more)
    case 'jsonl':
      return new JsonLineRows(name, { kind, more })
    case 'json':
      return new JsonListRows(name, { kind, more })
    case 'yaml': {
      // CommonJS: in the bundle only its default export can be taken apart.
      const { default: yaml } = await import('yaml')
      return new YamlRows(name, { kind, more }, yaml)
    }
  }
}
