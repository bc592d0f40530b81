import { type Configuration, readConfiguration } from '../../config/configuration-file.ts'
import { type DocumentFormat, defaultFormats, type OutputFormat } from '../../config/output-formats.ts'
import {
  type FlagValues,
  type Options,
  profileNameOf,
  profileNames,
  resolveOptions,
} from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { Directories } from '../../system/files/directories.ts'
import { once } from '../../system/once.ts'
import { type Host, resolvePath } from '../host.ts'
import { Prompter } from '../input/prompter.ts'
import { Output } from '../output/output.ts'
import type { Streams } from '../output/streams.ts'

/** The shared options of a command line. */
export interface Invocation {
  streams: Streams
  /** As typed: `users update`. */
  command: string
  flags: FlagValues
  output: { fields: string | undefined; jq: string | undefined; quiet: boolean; noColor: boolean }
  debug: boolean
  noInput: boolean
  /** Which requests to hold back. */
  dryRun: 'changes' | 'all' | undefined
  mayNameNewProfile: boolean
  takesProfileOfAddress: boolean
  toleratesInvalidConfiguration: boolean
  formats: readonly (OutputFormat | DocumentFormat)[]
  userAgent: string
}

/** What every command has. */
export interface BaseContext {
  readonly host: Host
  readonly env: NodeJS.ProcessEnv
  readonly directories: Directories
  readonly streams: Streams
  /** Resolves a file name against the working directory of the run. */
  resolvePath(name: string): string
  readonly options: Options
  /** Read when it is used for the first time. @throws Failure `config` */
  readonly configuration: Configuration
  /** The name of the profile with an ID. Undefined if the profile was removed. @throws Failure `config` */
  profileNameOf(id: string): string | undefined
  /** Why the configuration is not used, for the commands that tolerate that. */
  readonly configurationFailure: Failure | undefined
  readonly output: Output
  readonly prompter: Prompter
  readonly signal: AbortSignal
  readonly dryRun: boolean
  /** Registers work for the end of the command. What was registered last is done first. */
  onClose(work: () => Promise<void> | void): void
  close(): Promise<void>
}

export function createBaseContext(invocation: Invocation): BaseContext {
  const { streams, dryRun } = invocation
  const { host, signal } = streams
  const { env } = host
  const directories = new Directories(env)
  const { configuration, options, failure } = resolveConfiguration(invocation, directories)
  const { value: requested, source } = options.output
  // Undefined for the format of a document, which `Output` does not render.
  const format = defaultFormats.find((known) => known === requested)
  const atEnd: (() => Promise<void> | void)[] = []
  return {
    host,
    env,
    directories,
    streams,
    resolvePath: (name) => resolvePath(host, name),
    options,
    get configuration() {
      return configuration()
    },
    profileNameOf: (id) => profileNameOf(configuration(), id),
    configurationFailure: failure,
    output: new Output({ format, isExplicit: source === 'flag', ...invocation.output, streams }),
    prompter: new Prompter(streams, invocation),
    signal,
    dryRun: dryRun !== undefined,
    onClose: (work) => void atEnd.push(work),
    close: async () => {
      for (const work of atEnd.reverse()) await work()
    },
  }
}

interface Resolution {
  configuration: () => Configuration
  options: Options
  failure?: Failure
}

/** If the configuration cannot be read, a command that tolerates this runs without its values. */
function resolveConfiguration(invocation: Invocation, directories: Directories): Resolution {
  const { flags, streams, toleratesInvalidConfiguration } = invocation
  const { host } = streams
  const usage = { ...invocation, workingDirectory: resolvePath(host, '.') }
  const configuration = once(() => readConfiguration(directories))
  let readable: Configuration = {}
  try {
    if (toleratesInvalidConfiguration) readable = configuration()
    return { configuration, options: resolveOptions(flags, host.env, configuration, usage) }
  } catch (failure) {
    if (!toleratesInvalidConfiguration || !(failure instanceof Failure)) throw failure
    const options = resolveOptions(flags, host.env, () => namesIn(readable), usage)
    return { configuration: () => readable, options, failure }
  }
}

/** The names of the profiles, which are read-only, and where each of them is in use. */
function namesIn(configuration: Configuration): Configuration {
  const { profiles = {}, directories = {}, default_profile: standard = '' } = configuration
  const names = Object.fromEntries(
    Object.entries(profiles).map(([name, { read_only: readOnly = 'off' }]) => {
      // An invalid value must not turn it off.
      return [name, { read_only: readOnly === 'off' ? 'off' : 'on' }]
    }),
  )
  const isThere = (name: string) => profileNames({ profiles }).includes(name)
  const places = Object.fromEntries(Object.entries(directories).filter(([, name]) => isThere(name)))
  const byDefault = isThere(standard) ? { default_profile: standard } : {}
  return { profiles: names, directories: places, ...byDefault }
}
