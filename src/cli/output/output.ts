import type { OutputFormat } from '../../config/output-formats.ts'
import { Failure } from '../../contract/failure.ts'
import { utf8Text } from '../../contract/notation/text.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { describeBytes } from '../../view/format/quantities.ts'
import { parseFields, selectFields, undocumentedFields } from '../../view/format/select-fields.ts'
import type { View } from '../../view/format/view.ts'
import { wrapWords } from '../../view/format/wrap-words.ts'
import { type Colors, linkTo, loadColors, wantsColor } from './colors.ts'
import { filterWithJq } from './jq.ts'
import { isRowFormat, RowWriter, renderResult, renderSpans, unknownField } from './render-result.ts'
import type { Streams } from './streams.ts'

interface OutputOptions {
  /** Undefined for the default: the text of the view, else a table in a terminal and TSV in a pipe. */
  format: OutputFormat | undefined
  /** Whether a flag of this command line sets the format. */
  isExplicit: boolean
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  noColor: boolean
  streams: Streams
}

/** A secret in a response body. */
export interface OneTimeSecret {
  /** Name of its field. */
  name: string
  value: string
}

const eventView: View = { layout: 'pairs', columns: [] }

/** Everything that a command shows: data on stdout, messages on stderr. */
export class Output {
  readonly streams: Streams
  readonly #options: OutputOptions
  readonly #fields: readonly string[] | undefined

  constructor(options: OutputOptions) {
    // --jq takes precedence over a default format.
    const overruled = options.jq !== undefined && !options.isExplicit && !isJsonFormat(options.format)
    this.streams = options.streams
    this.#options = overruled ? { ...options, format: undefined } : options
    this.#fields = options.fields === undefined ? undefined : parseFields(options.fields)
    if (this.#fields?.length === 0) throw new Failure('usage', '--fields is empty')
    if (options.jq !== undefined && options.format !== undefined && !this.isJson) {
      throw new Failure('usage', `--jq filters JSON and cannot be used with --output ${options.format}`)
    }
  }

  /** Whether the result is JSON, so that errors are JSON too. */
  get isJson(): boolean {
    const { format, jq } = this.#options
    return isJsonFormat(format) || (format === undefined && jq !== undefined)
  }

  /** Whether --jq or --fields selects from the result. */
  get isFiltered(): boolean {
    return this.#options.jq !== undefined || this.#fields !== undefined
  }

  /** Whether the result is a whole body, as JSON or YAML, rather than its columns. */
  get isDocument(): boolean {
    return this.isJson || this.#options.format === 'yaml'
  }

  /** Whether --quiet was given. */
  get isQuiet(): boolean {
    return this.#options.quiet
  }

  /** Whether --no-color was given. */
  get isColorless(): boolean {
    return this.#options.noColor
  }

  /** Whether the text of the view is shown, rather than data. */
  showsText(view: View): boolean {
    const { format, jq } = this.#options
    if (view.isForTerminal && !this.streams.isShown) return false
    return view.text !== undefined && format === undefined && jq === undefined && this.#fields === undefined
  }

  /** Refuses an undocumented field before a change is sent. @throws Failure `usage` */
  checkFields(view: View): void {
    const [unknown] = this.#fields ? undocumentedFields(view, this.#fields) : []
    if (unknown !== undefined) throw unknownField(view, unknown)
  }

  /** The same without `--fields`, which selects from a response: for requests that `--dry-run` holds back. */
  withoutFields(): Output {
    return new Output({ ...this.#options, fields: undefined })
  }

  /** Writes the result. `undefined` is a response without a body. */
  async show(view: View, body: unknown): Promise<void> {
    const text = await this.#render(view, body)
    await this.#writeResult(view, text)
    if (text === '' && view.emptyText !== undefined && this.#formatFor(view) === 'table') {
      this.progress(view.emptyText)
    }
  }

  /**
   * The same for a body with a secret that is shown only once. If --fields or --jq omits it, or stdout
   * fails, it is written to stderr.
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

  /** Writes the result to a file, which it replaces. */
  async save(path: string, view: View, body: unknown, format: OutputFormat | 'text'): Promise<void> {
    const { replaceDocument } = await import('../../system/files/document-file.ts')
    await replaceDocument(path, await this.#render(view, body, false, format))
  }

  /** Writes rows as they arrive; undefined for a format that is written as a whole. */
  rowWriter(view: View): RowWriter | undefined {
    const format = this.#formatFor(view)
    if (!isRowFormat(format)) return undefined
    const rendering = { format, fields: this.#fields, jq: this.#options.jq }
    return new RowWriter(view, rendering, (text) => this.#write(text))
  }

  async #writeResult(view: View, text: string): Promise<void> {
    // Tables and texts contain styles of chatctl, and control characters in values are already removed.
    const format = this.#formatFor(view)
    if (format === 'table' || format === 'text') await this.streams.writeData(text)
    else await this.#write(text)
  }

  /** Writes one event of a stream as a line of JSON. @param isSelected whether `--fields` selects its fields */
  async showEvent(event: Record<string, unknown>, isSelected = true): Promise<void> {
    const { jq } = this.#options
    const chosen = isSelected && this.#fields ? selectFields(eventView, event, this.#fields) : event
    await this.#write(
      jq === undefined ? `${JSON.stringify(chosen)}\n` : await filterWithJq(chosen, jq, { compact: true }),
    )
  }

  async showBytes(bytes: Uint8Array): Promise<void> {
    if (this.streams.isShown) await this.#write(new TextDecoder().decode(bytes))
    else await this.streams.writeData(bytes)
  }

  /** The same for a body of any type. A terminal gets a description of one that is not text. */
  async showBody(bytes: Uint8Array): Promise<void> {
    if (!this.streams.isShown) return this.streams.writeData(bytes)
    const text = utf8Text(bytes)
    if (text !== undefined) return this.#write(text.endsWith('\n') ? text : `${text}\n`)
    await this.warn(
      `The response body is not UTF-8 text (${describeBytes(bytes.length)}), so it is not printed in a terminal. Redirect stdout to a file.`,
    )
  }

  /** Removes control characters of the service, so that they cannot control the terminal. */
  async #write(text: string): Promise<void> {
    await this.streams.writeData(this.streams.isShown ? stripControls(text) : text)
  }

  /**
   * Whether a stream is written as text rather than JSON.
   * @throws Failure `usage` for an output format that a stream cannot have
   */
  streamsText(view: View): boolean {
    const { format, isExplicit } = this.#options
    if (this.showsText(view)) return true
    if (this.isJson) return false
    if (!isExplicit && format !== undefined && this.#fields === undefined) return true
    throw new Failure('usage', `--stream writes text or JSON, not ${format ?? 'rows'}`, {
      hint: 'Use --json, or omit --stream.',
    })
  }

  async #render(
    view: View,
    body: unknown,
    isShown = this.streams.isShown,
    format = this.#formatFor(view, isShown),
  ): Promise<string> {
    const { jq, noColor } = this.#options
    const { stdout, env } = this.streams.host
    return renderResult(view, body, {
      format,
      fields: this.#fields,
      jq,
      loadColors: () => loadColors(wantsColor(stdout, env, noColor)),
      width: stdout.columns || 80,
      forTerminal: isShown,
    })
  }

  #formatFor(view: View, isShown = this.streams.isShown): OutputFormat | 'text' {
    const { format, jq } = this.#options
    if (format !== undefined) return format
    if (jq !== undefined) return 'json'
    if (this.showsText(view)) return 'text'
    return isShown ? 'table' : 'tsv'
  }

  /**
   * Writes to stderr what the user needs to know before a prompt, or in addition to the result.
   * @param isPrompted whether a prompt follows, so that it is shown even with --quiet
   */
  async showAside(view: View, body: unknown, isPrompted: boolean): Promise<void> {
    if (!isPrompted && (this.#options.quiet || this.isJson)) return
    const text = view.text?.(body, this.streams.messageWidth) ?? ''
    if (typeof text === 'string') return this.streams.say(text)
    const colors = await this.#colorsOfStderr()
    this.streams.sayStyled(renderSpans(text, colors).trimEnd())
  }

  #colorsOfStderr(): Promise<Colors> {
    const { stderr, env } = this.streams.host
    return loadColors(wantsColor(stderr, env, this.#options.noColor))
  }

  /** Progress, which only people need. */
  progress(text: string): void {
    if (this.isJson && !this.streams.isWatched) return
    if (!this.#options.quiet) this.streams.say(wrapWords(text, this.streams.messageWidth))
  }

  /** Whether stderr is a terminal that can redraw a line. */
  get canRedraw(): boolean {
    const { isWatched, host } = this.streams
    return !this.#options.quiet && isWatched && host.env['TERM'] !== 'dumb'
  }

  /** An address that the user must open, shown even with --quiet; a link if the terminal supports links. */
  async showAddress(text: string, url: string): Promise<void> {
    if (this.isJson) return this.streams.say(JSON.stringify({ notice: { message: text, url } }))
    this.streams.say(wrapWords(text, this.streams.messageWidth))
    this.streams.sayStyled(await linkTo(url, this.streams.host.stderr, this.#options.noColor))
  }

  /** Information that is not a problem. */
  notice(text: string): void {
    if (this.#options.quiet) return
    if (this.isJson) this.streams.say(JSON.stringify({ notice: { message: text } }))
    else this.streams.say(wrapWords(text, this.streams.messageWidth))
  }

  /** A problem that does not stop the command. */
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

function isJsonFormat(format: OutputFormat | undefined): boolean {
  return format === 'json' || format === 'jsonl'
}
