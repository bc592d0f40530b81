import { Command } from '@oclif/core/command'
import type { Config, Input, ParserOutput } from '@oclif/core/interfaces'
import { profileKeys } from '../config/configuration-file.ts'
import { type DocumentFormat, defaultFormats, outputFormats } from '../config/output-formats.ts'
import { Failure, unknownOutcome } from '../contract/failure.ts'
import { dryRunChangeView, dryRunRequestView } from '../view/dry-run.ts'
import type { View } from '../view/format/view.ts'
import { commandFor } from './command-line.ts'
import type { ValueKind } from './completion/suggestions.ts'
import { type Context, createContext } from './context/context.ts'
import { HeldRequest } from './context/held-request.ts'
import { Interruption } from './context/interruption.ts'
import type { InterruptedChange } from './context/sent-changes.ts'
import { refuseIfReadOnly } from './context/target.ts'
import { effectOf, type Requests } from './documented-requests.ts'
import { outcomeHint } from './errors/outcome-hint.ts'
import { reportError, reportInterruption, wantsJson } from './errors/render-error.ts'
import type { Usage } from './errors/usage-error.ts'
import { sharedFlags } from './flags/shared-flags.ts'
import { unknownVariables } from './help/environment-variables.ts'
import type { Example } from './help/page.ts'
import { markOmittedValues, withoutVariables, wordsFromEnvironment } from './line/words-for-parser.ts'
import { checkFilter } from './output/jq.ts'
import type { Streams } from './output/streams.ts'

/**
 * The output format has two flags, the flag of `save` is --no-save, and that of the command is only for signing in.
 * The others have none.
 */
const otherFlags: readonly string[] = ['output', 'save', 'credential_command', 'approvers', 'read_only']

/** The flags of the other profile keys. */
const optionNames = ['profile', ...profileKeys.filter((key) => !otherFlags.includes(key))].map((key) =>
  key.replaceAll('_', '-'),
)

type Values = Record<string, unknown>

/**
 * Shared flags, one context, and one way to report failures. A command knows of its surroundings only what it is
 * given, so that it can run many times in one process.
 */
export abstract class BaseCommand extends Command {
  static override baseFlags = sharedFlags
  static requests: Requests
  /** `--fields` selects from its columns. Undefined if the command prints a document or one value. */
  static view: View | undefined
  /** What JSON contains instead, by the flag or argument that selects it. `--json` replaces the view. */
  static otherViews: Readonly<Record<string, View>> | undefined
  /** Of each list, a non-interactive run needs one flag. `--yes` need not be listed. */
  static nonInteractive: readonly (readonly string[])[] | undefined
  /** For completion: the kind of value of an argument, by the name of the argument. */
  static completes: Readonly<Record<string, ValueKind>> | undefined
  /** The values of `--output` if the command writes a document rather than rows. */
  static documentFormats: readonly DocumentFormat[] | undefined
  /** Whether `--output` may also be `markdown`: the rows as a table. */
  static offersMarkdown = false
  /**
   * Whether the command line names the request. `--dry-run` then also holds back one that only reads, and read-only
   * mode refuses only one that does not.
   */
  protected readonly sendsNamedRequest: boolean = false
  /** Whether `--profile` may name a profile that does not exist yet. */
  protected readonly mayNameNewProfile: boolean = false
  /** Whether a base URL without a profile selects the profile that has it. */
  protected readonly takesProfileOfAddress: boolean = false
  /** Whether the command runs even if the configuration is invalid. */
  protected readonly toleratesInvalidConfiguration: boolean = false
  /** Whether its one argument is a text, which users may type without quotes. */
  protected readonly takesText: boolean = false
  readonly streams: Streams
  /** Undefined for 0 if all output has reached stdout. */
  protected exitCode: number | undefined
  #context: Context | undefined
  #flags: Values = {}

  constructor(argv: string[], config: Config, streams: Streams) {
    super(argv, config as Command['config'])
    this.streams = streams
  }

  /** The examples of the help: a command line for each task. */
  static toExamples(commands: Readonly<Record<string, string>>): Example[] {
    return Object.entries(commands).map(([description, command]) => ({ description, command }))
  }

  /** As users type it. */
  get #name(): string {
    return (this.id ?? '').replaceAll(':', ' ')
  }

  /** @returns the exit code, as far as the command knows it */
  async execute(): Promise<number | undefined> {
    await this._run()
    return this.exitCode
  }

  protected override async parse<F extends Values, B extends Values, A extends Values>(
    command?: Input<F, B, A>,
  ): Promise<ParserOutput<F, B, A>> {
    const { argv } = this
    const known = { ...this.ctor.baseFlags, ...this.ctor.flags }
    const marked = markOmittedValues(argv, known)
    if (!command) return super.parse()
    const { flags, baseFlags } = command
    const fromEnvironment = wordsFromEnvironment(known, argv, this.streams.host.env)
    try {
      return await super.parse(
        {
          ...command,
          ...(flags && { flags: withoutVariables(flags) }),
          ...(baseFlags && { baseFlags: withoutVariables(baseFlags) }),
        },
        [...fromEnvironment, ...marked],
      )
    } finally {
      this.argv = argv
    }
  }

  /**
   * Parses the command line and creates the context.
   *
   * `--fields` and `--jq` are checked against the view before anything is sent.
   * @param view chooses the view by the flags
   */
  protected async start<F extends Values, B extends Values, A extends Values>(
    command: Input<F, B, A>,
    view?: (flags: F) => View | undefined,
  ): Promise<ParserOutput<F, B, A> & { context: Context }> {
    const parsed = await this.parse(command)
    const changes = Object.hasOwn(command.flags ?? {}, 'dry-run')
    const ownClass = this.ctor as unknown as typeof BaseCommand
    const { view: usualView, documentFormats, offersMarkdown } = ownClass
    const shown = view ? view(parsed.flags) : usualView
    const [unknown] = unknownVariables(this.streams.host.env)
    if (unknown && changes) throw new Failure('usage', unknown.message, { hint: unknown.hint })
    const flags: Values = parsed.flags
    this.#flags = flags
    if (documentFormats && (flags['fields'] !== undefined || flags['jq'] !== undefined)) {
      throw new Failure('usage', '--fields and --jq choose from rows, and this command writes a document')
    }
    const context = createContext({
      streams: this.streams,
      command: this.#name,
      flags: {
        ...Object.fromEntries(optionNames.flatMap((name) => Object.entries(option(flags, name)))),
        ...outputFormat(flags, parsed.raw),
        ...(flags['no-save'] === true && { save: 'off' }),
      },
      output: {
        fields: text(flags['fields']),
        jq: text(flags['jq']),
        quiet: flags['quiet'] === true,
        noColor: flags['no-color'] === true,
      },
      debug: flags['debug'] === true,
      noInput: flags['no-input'] === true,
      dryRun: flags['dry-run'] === true ? (this.sendsNamedRequest ? 'all' : 'changes') : undefined,
      mayNameNewProfile: this.mayNameNewProfile,
      takesProfileOfAddress: this.takesProfileOfAddress,
      toleratesInvalidConfiguration: this.toleratesInvalidConfiguration,
      formats: documentFormats ?? (offersMarkdown ? defaultFormats : outputFormats),
      userAgent: `chatctl/${this.config.version}`,
    })
    this.#context = context
    if (!context.dryRun && !this.sendsNamedRequest && effectOf(ownClass) !== 'reads') {
      refuseIfReadOnly(context.options, `chatctl ${this.#name}`)
    }
    if (unknown && !this.toleratesInvalidConfiguration) {
      await context.output.warn(`${unknown.message}. ${unknown.hint}`)
    }
    if (shown && changes) context.output.checkFields(shown)
    if (typeof flags['jq'] === 'string') await checkFilter(flags['jq'])
    return { ...parsed, context }
  }

  /** @throws Failure `usage` for a request without a value */
  protected demandChange(request: object): void {
    if (Object.values(request).some((value) => value !== undefined)) return
    throw new Failure('usage', 'No change was given', { hint: `See: chatctl ${this.#name} --help` })
  }

  /** Shows what a change on this machine would do, for `--dry-run`. */
  protected async showLocalChange(change: Values): Promise<void> {
    await this.#context?.output.withoutFields().show(dryRunChangeView, change)
  }

  /** Shows the requests that were held back: one as an object, several as a list. */
  protected async showHeldRequests([first, ...others]: readonly object[]): Promise<void> {
    const shown = others.length === 0 ? first : [first, ...others]
    await this.#context?.output.withoutFields().show(dryRunRequestView, shown)
  }

  /** Waits for a request that changes something. @param hint how to check the effect if the outcome is unknown */
  protected async change<T>(change: Promise<T>, hint?: string): Promise<T> {
    try {
      return await change
    } catch (error) {
      if (!(error instanceof Failure && error.isOutcomeUnknown)) throw error
      throw unknownOutcome(error, hint ?? outcomeHint(error.request, this.#command))
    }
  }

  /** A command line for the service of this run. */
  readonly #command = (...words: string[]): string => {
    return this.#context ? commandFor(this.#context, ...words) : ['chatctl', ...words].join(' ')
  }

  protected override async catch(error: unknown): Promise<void> {
    this.exitCode = await this.#fail(error)
  }

  async #fail(error: unknown): Promise<number> {
    const flags = this.#flags
    const style = {
      streams: this.streams,
      json: this.#context?.output.isJson ?? wantsJson(this.argv, this.streams.host),
      debug: flags['debug'] === true,
      noColor: flags['no-color'] === true,
      connection: this.#context?.connection(),
    }
    try {
      if (error instanceof HeldRequest && this.#context) {
        await this.showHeldRequests([error.describe()])
        return 0
      }
      if (error instanceof Interruption)
        return await reportInterruption(error, this.#interrupted(error), style)
      // Most failures need none of it, and an update may have removed the file.
      if (error instanceof Failure) return await reportError(error, style)
      const { usageFailure } = await import('./errors/usage-error.ts')
      return await reportError(usageFailure(error, this.#usage()), style)
    } catch (nested) {
      return await reportError(nested, style)
    }
  }

  /** What is known about the changes of this run when it is interrupted. */
  #interrupted(interruption: Interruption): InterruptedChange | undefined {
    const isToChange =
      Object.hasOwn(this.ctor.flags ?? {}, 'dry-run') && /^(settings|users):/.test(this.id ?? '')
    return this.#context?.sentChanges.describe(interruption, isToChange, this.#command)
  }

  #usage(): Usage {
    const flags = Object.entries({ ...this.ctor.baseFlags, ...this.ctor.flags })
    const shown = flags.flatMap(([name, flag]) => {
      if (flag.hidden) return []
      return flag.type === 'boolean' && flag.allowNo ? [name, `no-${name}`] : [name]
    })
    return {
      id: this.id ?? '',
      flags: shown,
      takesText: this.takesText,
    }
  }

  protected override async finally(): Promise<void> {
    await this.#context?.close()
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function option(flags: Values, name: string): Record<string, string> {
  const value = text(flags[name])
  return value === undefined ? {} : { [name.replaceAll('-', '_')]: value }
}

/** `--json` is `--output json`; both together must agree. */
function outputFormat(flags: Values, raw: ParserOutput['raw']): Record<string, string> {
  const given = option(flags, 'output')
  const asked = raw.some((token) => token.type === 'flag' && token.flag === 'json')
  if (asked && given['output'] !== undefined && given['output'] !== 'json') {
    throw new Failure('usage', `--json and --output ${given['output']} cannot be used together`)
  }
  return given['output'] === undefined && flags['json'] === true ? { output: 'json' } : given
}

export type CommandClass = new (...given: [argv: string[], config: Config, streams: Streams]) => BaseCommand
