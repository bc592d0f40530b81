import type { OutputFormat } from '../../config/output-formats.ts'
import { yamlWriting } from '../../contract/notation/yaml-scalars.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { renderCsv, renderTsv } from '../../view/format/delimited.ts'
import { markdownTable } from '../../view/format/markdown-table.ts'
import { absentFields, selectFields, undocumentedFields } from '../../view/format/select-fields.ts'
import { gridOf, rowsOf, type Span, type View } from '../../view/format/view.ts'
import type { Colors } from './colors.ts'
import { absentField } from './field-failures.ts'
import { filterWithJq } from './jq.ts'

export interface Rendering {
  format: OutputFormat | 'text'
  /** Paths; undefined for all columns of the view. */
  fields: readonly string[] | undefined
  jq: string | undefined
  /** Called only if something may be colored. */
  loadColors(): Promise<Colors>
  /** Whether the result is for a terminal, so that control characters must be removed. */
  forTerminal: boolean
  /** Columns of the terminal. */
  width: number
}

/**
 * A result in its output format. `undefined` stands for a response without a body.
 *
 * @throws Failure for a field that nothing has, or a filter that fails on the body
 */
export async function renderResult(view: View, body: unknown, rendering: Rendering): Promise<string> {
  const { format, fields, jq } = rendering
  const missing = fields && body !== undefined ? absentFields(view, body, fields) : []
  const unknown = undocumentedFields(view, missing)[0]
  if (unknown !== undefined) throw absentField(view, unknown)
  const chosen = (): unknown =>
    fields && body !== undefined ? selectFields(view, body, fields) : (body ?? {})
  switch (format) {
    case 'text':
      return renderText(
        view.text?.(body, rendering.forTerminal ? rendering.width : Infinity) ?? '',
        rendering,
      )
    case 'json':
      return jq === undefined ? `${JSON.stringify(chosen(), null, 2)}\n` : filterWithJq(chosen(), jq)
    case 'jsonl':
      return renderJsonl(view, body, rendering)
    case 'yaml': {
      const { default: yaml } = await import('yaml')
      const value = chosen()
      return yaml.stringify(value, yamlWriting(value))
    }
    case 'csv':
      return renderCsv(gridOf(view, body, fields))
    case 'tsv':
      return renderTsv(gridOf(view, body, fields))
    case 'table':
      return renderForTerminal(view, body, rendering)
    case 'markdown':
      return renderMarkdown(view, body, fields)
  }
}

/**
 * One row, in the formats that are written row by row.
 *
 * @param isFirst whether to write the header of the format before it
 */
export async function renderRow(
  view: View,
  row: unknown,
  { format, fields, jq }: Pick<Rendering, 'fields' | 'jq'> & { format: RowFormat },
  isFirst: boolean,
): Promise<string> {
  switch (format) {
    case 'json': {
      const chosen = fields ? selectFields({ ...view, layout: 'pairs' }, row, fields) : row
      return `${isFirst ? '[' : ','}\n${JSON.stringify([chosen], null, 2).slice('[\n'.length, -'\n]'.length)}`
    }
    case 'jsonl':
      return renderJsonl(view, [row], { fields, jq })
    case 'csv':
      return renderCsv(gridOf(view, [row], fields), isFirst)
    case 'tsv':
      return renderTsv(gridOf(view, [row], fields))
  }
}

/** Formats that are written row by row, as the rows arrive. JSON is then a list. */
export type RowFormat = 'json' | 'jsonl' | 'csv' | 'tsv'

export function isRowFormat(format: OutputFormat | 'text'): format is Exclude<RowFormat, 'json'> {
  return format === 'jsonl' || format === 'csv' || format === 'tsv'
}

async function renderJsonl(
  view: View,
  body: unknown,
  { fields, jq }: Pick<Rendering, 'fields' | 'jq'>,
): Promise<string> {
  const rows = body === undefined ? [{}] : rowsOf(view, body)
  const lines = fields ? rows.map((row) => selectFields({ ...view, layout: 'pairs' }, row, fields)) : rows
  if (jq === undefined) return lines.map((row) => `${JSON.stringify(row)}\n`).join('')
  const filtered: string[] = []
  for (const line of lines) filtered.push(await filterWithJq(line, jq, { compact: true }))
  return filtered.join('')
}

async function renderForTerminal(
  view: View,
  body: unknown,
  { fields, width, loadColors }: Rendering,
): Promise<string> {
  const { renderTable } = await import('../../view/format/table.ts')
  const { bold } = await loadColors()
  return renderTable(view, body, { fields, width, bold })
}

function renderMarkdown(view: View, body: unknown, fields: readonly string[] | undefined): string {
  if (view.markdown && !fields) return view.markdown(body)
  const { header, rows } = gridOf(view, body, fields)
  return markdownTable(header, rows)
}

async function renderText(text: string | readonly Span[], { loadColors, forTerminal }: Rendering) {
  if (typeof text !== 'string') return text.length === 0 ? '' : renderSpans(text, await loadColors())
  const clean = forTerminal ? stripControls(text) : text
  return clean.endsWith('\n') ? clean : `${clean}\n`
}

/** Removes control characters from the text before the colors are added. */
export function renderSpans(spans: readonly Span[], colors: Colors): string {
  const all = spans
    .map(({ text, style }) =>
      style === undefined ? stripControls(text) : colors[style](stripControls(text)),
    )
    .join('')
  return all.endsWith('\n') ? all : `${all}\n`
}
