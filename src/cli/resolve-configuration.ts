import { type Configuration, readConfiguration } from '../config/configuration-file.ts'
import type { DocumentForm } from '../config/output-forms.ts'
import { type FlagValues, type Options, resolveOptions } from '../config/resolve-options.ts'
import { Failure } from '../failure.ts'

interface Asked {
  flags: FlagValues
  mayNameNewProfile: boolean
  takesProfileOfAddress: boolean
  standsBrokenConfiguration: boolean
  documentForms: readonly DocumentForm[] | undefined
}

interface Resolution {
  configuration: Configuration
  options: Options
  failure?: Failure
}

/** Without what cannot be read, where the command stands that: no stored value is in force then. */
export function resolveConfiguration(asked: Asked, env: NodeJS.ProcessEnv): Resolution {
  let configuration: Configuration = {}
  try {
    configuration = readConfiguration()
    return { configuration, options: resolveOptions(asked.flags, env, configuration, asked) }
  } catch (failure) {
    if (!asked.standsBrokenConfiguration || !(failure instanceof Failure)) throw failure
    const names = Object.keys(configuration.profiles ?? {})
    const profiles = Object.fromEntries(names.map((name) => [name, {}]))
    const options = resolveOptions(asked.flags, env, { ...configuration, profiles }, asked)
    return { configuration, options, failure }
  }
}
