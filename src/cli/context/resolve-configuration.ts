import { type Configuration, readConfiguration } from '../../config/configuration-file.ts'
import type { DocumentFormat, OutputFormat } from '../../config/output-formats.ts'
import { type FlagValues, type Options, profileNames, resolveOptions } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/files/directories.ts'
import { once } from '../../system/once.ts'

interface Asked {
  flags: FlagValues
  mayNameNewProfile: boolean
  takesProfileOfAddress: boolean
  workingDirectory: string
  toleratesInvalidConfiguration: boolean
  formats: readonly (OutputFormat | DocumentFormat)[]
}

interface Resolution {
  /** Reads the file when it is called for the first time. @throws Failure `config` */
  configuration: () => Configuration
  options: Options
  failure?: Failure
}

/** Without what cannot be read, where the command stands that: no stored value is in force then. */
export function resolveConfiguration(
  asked: Asked,
  env: NodeJS.ProcessEnv,
  directories: Directories,
): Resolution {
  const configuration = once(() => readConfiguration(directories))
  if (!asked.toleratesInvalidConfiguration) {
    return { configuration, options: resolveOptions(asked.flags, env, configuration, asked) }
  }
  let readable: Configuration = {}
  try {
    readable = configuration()
    return { configuration, options: resolveOptions(asked.flags, env, configuration, asked) }
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure
    const options = resolveOptions(asked.flags, env, () => namesIn(readable), asked)
    return { configuration: () => readable, options, failure }
  }
}

/** The names of the profiles, and which is the default, where that is one of them. */
function namesIn({ profiles = {}, default_profile: standard }: Configuration): Configuration {
  const names = Object.fromEntries(Object.keys(profiles).map((name) => [name, {}]))
  const isThere = standard !== undefined && profileNames({ profiles }).includes(standard)
  return { profiles: names, ...(isThere ? { default_profile: standard } : {}) }
}
