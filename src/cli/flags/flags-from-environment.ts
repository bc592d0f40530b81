import { readBooleanVariable } from '../../config/boolean-variable.ts'

/** What of a flag matters here. */
interface Flag {
  type: 'boolean' | 'option'
  env?: string | undefined
}

type Flags = Record<string, Flag>

/**
 * The words by which a command line would say what the environment says. They go before its own, which
 * overrule them. oclif itself asks the environment of the process, and this run may have another.
 *
 * @throws Failure `usage` for an unknown word in the variable of a flag that takes no value
 */
export function wordsFromEnvironment(flags: Flags, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    if (flag.env === undefined) return []
    const value = env[flag.env]
    if (!value) return []
    if (flag.type === 'option') return [`--${name}=${value}`]
    return readBooleanVariable(flag.env, env) ? [`--${name}`] : []
  })
}

/** The same flags without their variables. */
export function withoutVariables<F extends object>(flags: F): F {
  const entries = Object.entries(flags).map(([name, flag]) => [name, { ...flag, env: undefined }])
  return Object.fromEntries(entries) as F
}
