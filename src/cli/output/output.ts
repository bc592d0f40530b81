import type { OutputForm } from '../../config/resolve-options.ts'
import { Failure } from '../../failure.ts'
import { renderCsv, renderTsv } from '../../view/delimited.ts'
import { absentFields, parseFields, selectFields, undocumentedFields } from '../../view/select-fields.ts'
import { stripControls } from '../../view/strip-controls.ts'
import { gridOf, rowsOf, type View } from '../../view/view.ts'
import { nearest } from '../nearest.ts'
import { loadColours, wantsColour } from './colours.ts'
import { filterWithJq } from './jq.ts'
import { say, sayStyled, writeData } from './streams.ts'

export interface OutputOptions {
  /** Absent where nothing was said: a table on a terminal, TSV in a pipe, text where the view has one. */
  form: OutputForm | undefined
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  noColour: boolean
  env: NodeJS.ProcessEnv
}

const eventView: View = { layout: 'pairs', columns: [] }

/** Everything that a command shows goes through here: data to stdout, conversation to stderr. */
export class Output {
  readonly #options: OutputOptions
  readonly #fields: readonly string[] | undefined

  constructor(options: OutputOptions) {
    this.#options = options
    this.#fields = options.fields === undefined ? undefined : parseFields(options.fields)
    if (this.#fields?.length === 0) throw new Failure('usage', '--fields names no field')
    if (options.jq !== undefined && options.form !== undefined && !this.isJson) {
      throw new Failure('usage', `--jq filters JSON; it does not go with --output ${options.form}`)
    }
  }

  /** Whether a program reads the result as JSON, so that errors are JSON too. */
  get isJson(): boolean {
    const { form, jq } = this.#options
    return form === 'json' || form === 'jsonl' || (form === undefined && jq !== undefined)
  }

  /** Whether the view's text is what will be shown, rather than data. */
  showsText(view: View): boolean {
    const { form, jq } = this.#options
    return view.text !== undefined && form === undefined && jq === undefined && this.#fields === undefined
  }

  /**
   * Refuses a field that cannot be there, before anything is sent: later it would be too late for a
   * command that changes something.
   */
  checkFields(view: View): void {
    const [unknown] = this.#fields ? undocumentedFields(view, this.#fields) : []
    if (unknown !== undefined) throw unknownField(view, unknown)
  }

  /** The same, but whole: for what `--dry-run` holds back, since `--fields` is about the answer. */
  withoutFields(): Output {
    return new Output({ ...this.#options, fields: undefined })
  }

  /** Writes the result. `undefined` stands for an answer without a body. */
  async show(view: View, body: unknown): Promise<void> {
    await writeData(await this.#render(view, body))
  }

  /** Writes one event of a stream as a line of JSON. */
  async showEvent(event: Record<string, unknown>): Promise<void> {
    const { jq } = this.#options
    const chosen = this.#fields ? selectFields(eventView, event, this.#fields) : event
    await writeData(
      jq === undefined ? `${JSON.stringify(chosen)}\n` : await filterWithJq(chosen, jq, { compact: true }),
    )
  }

  /** Refuses a form in which a stream cannot be written. */
  checkStreamable(view: View): void {
    const { form } = this.#options
    if (this.showsText(view) || this.isJson) return
    throw new Failure('usage', `--stream writes text or JSON, not ${form ?? 'rows'}`, {
      hint: 'Use --json, or leave --stream away.',
    })
  }

  async #render(view: View, body: unknown): Promise<string> {
    const fields = this.#fields
    const missing = fields && body !== undefined ? absentFields(view, body, fields) : []
    const unknown = undocumentedFields(view, missing)[0]
    if (unknown !== undefined) throw unknownField(view, unknown)
    const form = this.#formFor(view)
    const chosen = (): unknown =>
      fields && body !== undefined ? selectFields(view, body, fields) : (body ?? {})
    switch (form) {
      case 'text':
        return withFinalNewline(this.#clean(view.text?.(body) ?? ''))
      case 'json':
        return this.#options.jq === undefined
          ? `${JSON.stringify(chosen(), null, 2)}\n`
          : filterWithJq(chosen(), this.#options.jq)
      case 'jsonl':
        return this.#renderJsonl(view, body)
      case 'yaml': {
        const { default: yaml } = await import('yaml')
        return yaml.stringify(chosen())
      }
      case 'csv':
        return renderCsv(gridOf(view, body, fields))
      case 'tsv':
        return renderTsv(gridOf(view, body, fields))
      case 'table':
        return this.#renderTable(view, body)
    }
  }

  #formFor(view: View): OutputForm | 'text' {
    const { form, jq } = this.#options
    if (form !== undefined) return form
    if (jq !== undefined) return 'json'
    if (this.showsText(view)) return 'text'
    return process.stdout.isTTY ? 'table' : 'tsv'
  }

  async #renderJsonl(view: View, body: unknown): Promise<string> {
    const fields = this.#fields
    const rows = body === undefined ? [{}] : rowsOf(view, body)
    const lines = fields ? rows.map((row) => selectFields({ ...view, layout: 'pairs' }, row, fields)) : rows
    if (this.#options.jq === undefined) return lines.map((row) => `${JSON.stringify(row)}\n`).join('')
    const filtered: string[] = []
    for (const line of lines) filtered.push(await filterWithJq(line, this.#options.jq, { compact: true }))
    return filtered.join('')
  }

  async #renderTable(view: View, body: unknown): Promise<string> {
    const colours = await loadColours(this.#coloured(process.stdout))
    const grid = gridOf(view, body, this.#fields)
    const [first] = grid.rows
    const single = view.layout === 'records' && !Array.isArray(body) && !view.rows && first
    const upright = single
      ? { header: ['key', 'value'], rows: grid.header.map((name, index) => [name, first[index] ?? '']) }
      : grid
    const clean = {
      header: upright.header,
      rows: upright.rows.map((row) => row.map((cell) => this.#clean(cell))),
    }
    const { renderTable } = await import('../../view/table.ts')
    return renderTable(clean, { width: process.stdout.columns || 80, bold: colours.bold })
  }

  #clean(text: string): string {
    return process.stdout.isTTY ? stripControls(text) : text
  }

  #coloured(stream: NodeJS.WriteStream): boolean {
    return wantsColour(stream, this.#options.env, this.#options.noColour)
  }

  /** What goes on while it goes on: of no use to a program, so not said to one. */
  progress(text: string): void {
    if (this.isJson && !process.stderr.isTTY) return
    if (!this.#options.quiet) say(text)
  }

  /** Something to know that is not wrong. */
  notice(text: string): void {
    if (this.#options.quiet) return
    if (this.isJson) say(JSON.stringify({ notice: { message: text } }))
    else say(text)
  }

  /** Something wrong that did not stop the command. */
  async warn(text: string): Promise<void> {
    if (this.#options.quiet) return
    if (this.isJson) return say(JSON.stringify({ warning: { message: text } }))
    const colours = await loadColours(this.#coloured(process.stderr))
    sayStyled(`${colours.yellow('Warning:')} ${stripControls(text)}`)
  }
}

function withFinalNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

function unknownField(view: View, field: string): Failure {
  const known = view.columns.map(({ path }) => path)
  const meant = nearest(field, known)
  return new Failure('usage', `There is no field "${field}"`, {
    hint: meant ? `Did you mean ${meant}? Known: ${known.join(', ')}` : `Known: ${known.join(', ')}`,
  })
}
