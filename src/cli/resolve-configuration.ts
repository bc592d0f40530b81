import { type Configuration, readConfiguration } from '../config/configuration-file.ts'
import type { DocumentForm } from '../config/output-forms.ts'
import { type FlagValues, type Options, profileNames, resolveOptions } from '../config/resolve-options.ts'
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
    const options = resolveOptions(asked.flags, env, namesIn(configuration), asked)
    return { configuration, options, failure }
  }
}

/** The names of the profiles, and which is the default, where that is one of them. */
function namesIn({ profiles = {}, default_profile: standard }: Configuration): Configuration {
  const names = Object.fromEntries(Object.keys(profiles).map((name) => [name, {}]))
  const isThere = standard !== undefined && profileNames({ profiles }).includes(standard)
  return { profiles: names, ...(isThere ? { default_profile: standard } : {}) }
}
