import type { OutputFormat } from '../../config/output-formats.ts'
import { Failure } from '../../contract/failure.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { parseFields, selectFields, undocumentedFields } from '../../view/select-fields.ts'
import type { View } from '../../view/view.ts'
import { wrapWords } from '../../view/wrap-words.ts'
import { type Colors, loadColors, wantsColor } from './colors.ts'
import { unknownField } from './field-failures.ts'
import { filterWithJq } from './jq.ts'
import { linkTo } from './link.ts'
import { isRowForm, renderResult, renderSpans } from './render-result.ts'
import { RowWriter } from './row-writer.ts'
import type { Streams } from './streams.ts'

export interface OutputOptions {
  /** Absent where nothing was said: a table on a terminal, TSV in a pipe, text where the view has one. */
  form: OutputFormat | undefined
  /** Whether the form was asked for in this command line, rather than being a default. */
  isAsked: boolean
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  noColor: boolean
  streams: Streams
}

/** A secret as it stands in a body. */
export interface OneTimeSecret {
  /** Its field. */
  name: string
  value: string
}

const eventView: View = { layout: 'pairs', columns: [] }

/** Everything that a command shows goes through here: data to stdout, conversation to stderr. */
export class Output {
  readonly streams: Streams
  readonly #options: OutputOptions
  readonly #fields: readonly string[] | undefined

  constructor(options: OutputOptions) {
    // Against a default, --jq says more.
    const overruled = options.jq !== undefined && !options.isAsked && !isJsonForm(options.form)
    this.streams = options.streams
    this.#options = overruled ? { ...options, form: undefined } : options
    this.#fields = options.fields === undefined ? undefined : parseFields(options.fields)
    if (this.#fields?.length === 0) throw new Failure('usage', '--fields is empty')
    if (options.jq !== undefined && options.form !== undefined && !this.isJson) {
      throw new Failure('usage', `--jq filters JSON and cannot be used with --output ${options.form}`)
    }
  }

  /** Whether a program reads the result as JSON, so that errors are JSON too. */
  get isJson(): boolean {
    const { form, jq } = this.#options
    return isJsonForm(form) || (form === undefined && jq !== undefined)
  }

  /** Whether color was forbidden, wherever it would be. */
  get isColorless(): boolean {
    return this.#options.noColor
  }

  /** Whether the view's text is what will be shown, rather than data. */
  showsText(view: View): boolean {
    const { form, jq } = this.#options
    if (view.isForTerminal && !this.streams.isShown) return false
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
    const text = await this.#render(view, body)
    await this.#writeResult(view, text)
    if (text === '' && view.emptyText !== undefined && this.#formFor(view) === 'table')
      this.progress(view.emptyText)
  }

  /**
   * The same, for a body with a secret that nothing will ever show again: where --fields or --jq
   * leaves it out, or stdout cannot take it, stderr gets it.
   */
  async showOnce(view: View, body: unknown, secret: OneTimeSecret): Promise<void> {
    let written = ''
    try {
      const text = await this.#render(view, body)
      await this.#writeResult(view, text)
      written = text
    } finally {
      if (!written.includes(secret.value)) {
        const { name, value } = secret
        this.streams.say(
          this.isJson ? JSON.stringify({ notice: { [name]: value } }) : `${name} (shown only once): ${value}`,
        )
      }
    }
  }

  /** Writes rows as they come; undefined where the form is one that is written whole. */
  rowWriter(view: View): RowWriter | undefined {
    const form = this.#formFor(view)
    if (!isRowForm(form)) return undefined
    const rendering = { form, fields: this.#fields, jq: this.#options.jq }
    return new RowWriter(view, rendering, (text) => this.#write(text))
  }

  async #writeResult(view: View, text: string): Promise<void> {
    // Tables and texts carry our own styles, and what they quote is clean.
    const form = this.#formFor(view)
    if (form === 'table' || form === 'text') await this.streams.writeData(text)
    else await this.#write(text)
  }

  /** Writes one event of a stream as a line of JSON. */
  async showEvent(event: Record<string, unknown>): Promise<void> {
    const { jq } = this.#options
    const chosen = this.#fields ? selectFields(eventView, event, this.#fields) : event
    await this.#write(
      jq === undefined ? `${JSON.stringify(chosen)}\n` : await filterWithJq(chosen, jq, { compact: true }),
    )
  }

  /** Writes what has no form, as it came. */
  async showBytes(bytes: Uint8Array): Promise<void> {
    if (this.streams.isShown) await this.#write(new TextDecoder().decode(bytes))
    else await this.streams.writeData(bytes)
  }

  /** What comes from elsewhere cannot steer a terminal, whatever its form. */
  async #write(text: string): Promise<void> {
    await this.streams.writeData(this.streams.isShown ? stripControls(text) : text)
  }

  /**
   * Whether a stream is written as text rather than JSON.
   *
   * @throws Failure `usage` where a form was asked for that a stream cannot have
   */
  streamsText(view: View): boolean {
    const { form, isAsked } = this.#options
    if (this.showsText(view)) return true
    if (this.isJson) return false
    if (!isAsked && form !== undefined && this.#fields === undefined) return true
    throw new Failure('usage', `--stream writes text or JSON, not ${form ?? 'rows'}`, {
      hint: 'Use --json, or omit --stream.',
    })
  }

  async #render(view: View, body: unknown): Promise<string> {
    const form = this.#formFor(view)
    const { jq, noColor } = this.#options
    const { stdout, env } = this.streams.host
    return renderResult(view, body, {
      form,
      fields: this.#fields,
      jq,
      loadColors: () => loadColors(wantsColor(stdout, env, noColor)),
      width: stdout.columns || 80,
      forTerminal: this.streams.isShown,
    })
  }

  #formFor(view: View): OutputFormat | 'text' {
    const { form, jq } = this.#options
    if (form !== undefined) return form
    if (jq !== undefined) return 'json'
    if (this.showsText(view)) return 'text'
    return this.streams.isShown ? 'table' : 'tsv'
  }

  /**
   * Says beside the result what a person is to know of it or decide on.
   *
   * @param isAsked whether an answer is awaited, so that it is shown whatever is quiet
   */
  async showAside(view: View, body: unknown, isAsked: boolean): Promise<void> {
    if (!isAsked && (this.#options.quiet || this.isJson)) return
    const text = view.text?.(body, this.streams.messageWidth) ?? ''
    if (typeof text === 'string') return this.streams.say(text)
    const colors = await this.#colorsOfStderr()
    this.streams.sayStyled(renderSpans(text, colors).trimEnd())
  }

  #colorsOfStderr(): Promise<Colors> {
    const { stderr, env } = this.streams.host
    return loadColors(wantsColor(stderr, env, this.#options.noColor))
  }

  /** What goes on while it goes on: of no use to a program, so not said to one. */
  progress(text: string): void {
    if (this.isJson && !this.streams.isWatched) return
    if (!this.#options.quiet) this.streams.say(wrapWords(text, this.streams.messageWidth))
  }

  /** Whether somebody watches a terminal on stderr on which a line can be drawn over. */
  get drawsOver(): boolean {
    const { isWatched, host } = this.streams
    return !this.#options.quiet && isWatched && host.env['TERM'] !== 'dumb'
  }

  /** An address that a person has to have, whatever is quiet; where the terminal can, as a link. */
  async showAddress(text: string, url: string): Promise<void> {
    if (this.isJson) return this.streams.say(JSON.stringify({ notice: { message: text, url } }))
    this.streams.say(text)
    this.streams.sayStyled(await linkTo(url, this.streams.host.stderr, this.#options.noColor))
  }

  /** Something to know that is not wrong. */
  notice(text: string): void {
    if (this.#options.quiet) return
    if (this.isJson) this.streams.say(JSON.stringify({ notice: { message: text } }))
    else this.streams.say(wrapWords(text, this.streams.messageWidth))
  }

  /** Something wrong that did not stop the command. */
  async warn(text: string): Promise<void> {
    if (this.#options.quiet) return
    if (this.isJson) return this.streams.say(JSON.stringify({ warning: { message: text } }))
    const colors = await this.#colorsOfStderr()
    this.streams.sayStyled(
      wrapWords(`Warning: ${stripControls(text)}`, this.streams.messageWidth).replace(
        'Warning:',
        colors.yellow('Warning:'),
      ),
    )
  }
}

function isJsonForm(form: OutputFormat | undefined): boolean {
  return form === 'json' || form === 'jsonl'
}
