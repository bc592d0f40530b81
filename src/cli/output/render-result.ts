import type { OutputFormat } from '../../config/output-formats.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { yamlWriting } from '../../contract/notation/yaml-scalars.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { renderCsv, renderTsv } from '../../view/format/delimited.ts'
import { markdownTable } from '../../view/format/markdown-table.ts'
import { absentFields, selectFields, undocumentedFields } from '../../view/format/select-fields.ts'
import { gridOf, rowsOf, type Span, type View } from '../../view/format/view.ts'
import type { Colors } from './colors.ts'
import { filterWithJq } from './jq.ts'

interface Rendering {
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
 * A result in its output format. `undefined` means a response without a body.
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
      return jq === undefined ? renderJson(view, chosen()) : filterWithJq(chosen(), jq)
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
 * @param isFirst whether to write the header of the format before it
 */
async function renderRow(
  view: View,
  row: unknown,
  { format, fields, jq }: RowRendering,
  isFirst: boolean,
): Promise<string> {
  switch (format) {
    case 'jsonl':
      return renderJsonl(view, [row], { fields, jq })
    case 'csv':
      return renderCsv(gridOf(view, [row], fields), isFirst)
    case 'tsv':
      return renderTsv(gridOf(view, [row], fields))
  }
}

type RowRendering = Pick<Rendering, 'fields' | 'jq'> & { format: RowFormat }

/** Formats that are written row by row, as the rows arrive. */
type RowFormat = 'jsonl' | 'csv' | 'tsv'

export function isRowFormat(format: OutputFormat | 'text'): format is RowFormat {
  return format === 'jsonl' || format === 'csv' || format === 'tsv'
}

function renderJson({ isCompact }: View, body: unknown): string {
  if (!isCompact || !Array.isArray(body)) return `${JSON.stringify(body, null, 2)}\n`
  return `[${body.map((row) => `\n${JSON.stringify(row)}`).join()}\n]\n`
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

export function unknownField(view: View, field: string): Failure {
  const known = view.columns.map(({ path }) => path)
  const meant = nearest(field, known)
  return new Failure('usage', `Unknown field "${field}"`, {
    hint: meant ? `Did you mean ${meant}? Known: ${known.join(', ')}` : `Known: ${known.join(', ')}`,
  })
}

/** A view without documented columns is no reason to blame the command line. */
function absentField(view: View, field: string): Failure {
  if (view.columns.length > 0) return unknownField(view, field)
  return new Failure('invalid_response', `The response has no field "${field}"`)
}

/** Rows that are searched for an undocumented field before the first row is written. */
const maxHeld = 100

/** Writes rows as they arrive, so that memory does not grow with their number. */
export class RowWriter {
  readonly #view: View
  readonly #rendering: RowRendering
  readonly #write: (text: string) => Promise<void>
  #held: unknown[] = []
  #missing: readonly string[]
  #isFirst = true

  constructor(view: View, rendering: RowRendering, write: (text: string) => Promise<void>) {
    this.#view = view
    this.#rendering = rendering
    this.#write = write
    this.#missing = undocumentedFields(view, rendering.fields ?? [])
  }

  /** @throws Failure for an undocumented field that the first rows do not have */
  async write(rows: readonly unknown[]): Promise<void> {
    if (rows.length === 0) return
    this.#held.push(...rows)
    if (this.#missing.length > 0) this.#missing = absentFields(this.#view, this.#held, this.#missing)
    if (this.#missing.length === 0) return this.#writeHeld()
    if (this.#held.length >= maxHeld) this.#refuseMissing()
  }

  /** @throws Failure for a field that no row has */
  async end(): Promise<void> {
    if (this.#held.length > 0) this.#refuseMissing()
  }

  #refuseMissing(): void {
    const [unknown] = this.#missing
    if (unknown !== undefined) throw absentField(this.#view, unknown)
  }

  async #writeHeld(): Promise<void> {
    const rows = this.#held
    this.#held = []
    let text = ''
    for (const row of rows) {
      text += await renderRow(this.#view, row, this.#rendering, this.#isFirst)
      this.#isFirst = false
    }
    await this.#write(text)
  }
}
