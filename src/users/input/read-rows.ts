import { Failure } from '../../contract/failure.ts'
import type { RowKind } from '../rows/imported-user.ts'
import { CsvRows } from './csv-rows.ts'
import type { Input } from './input.ts'
import type { InputRow, RowReader } from './input-row.ts'
import { JsonLineRows } from './json-line-rows.ts'
import { JsonListRows } from './json-list-rows.ts'
import type { RowRules } from './object-row.ts'
import { decodeChunks } from './text/decode-chunks.ts'
import { isOneDocument } from './text/is-one-document.ts'
import { YamlRows } from './yaml-rows.ts'

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
  const reader = await readerOf(input, { ...rules, kind })
  let count = 0
  for await (const text of decodeChunks(input)) {
    const rows = reader.take(text, false)
    count += rows.length
    if (rows.length > 0) yield rows
  }
  const rows = reader.take('', true)
  if (count + rows.length === 0) throw new Failure('refused', `${input.name} contains no ${kind}`)
  if (rows.length > 0) yield rows
}

async function readerOf(input: Input, rules: RowRules): Promise<RowReader> {
  const { name, format } = input
  switch (format) {
    case 'csv':
      return new CsvRows(name, rules)
    case 'jsonl':
      return new JsonLineRows(name, rules)
    case 'json':
      return new JsonListRows(name, rules)
    case 'yaml': {
      if (await isOneDocument(input, rules.kind)) {
        const { YamlDocumentRows } = await import('./yaml-document-rows.ts')
        return new YamlDocumentRows(name, rules)
      }
      // CommonJS: in the bundle, it has only a default export.
      const { default: yaml } = await import('yaml')
      return new YamlRows(name, rules, yaml)
    }
  }
}
