/** What of a flag matters here. */
interface Flag {
  type: 'boolean' | 'option'
  env?: string | undefined
}

type Flags = Record<string, Flag>

/** What counts as true, as oclif has it. */
const truths = ['1', 'true', 'y', 'yes']

/**
 * The words by which a command line would say what the environment says. They go before its own, which
 * overrule them. oclif itself asks the environment of the process, and this run may have another.
 */
export function wordsFromEnvironment(flags: Flags, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(flags).flatMap(([name, flag]) => {
    const value = flag.env === undefined ? undefined : env[flag.env]
    if (!value) return []
    if (flag.type === 'option') return [`--${name}=${value}`]
    return truths.includes(value.toLowerCase()) ? [`--${name}`] : []
  })
}

/** The same flags without their variables. */
export function withoutVariables<F extends object>(flags: F): F {
  const entries = Object.entries(flags).map(([name, flag]) => [name, { ...flag, env: undefined }])
  return Object.fromEntries(entries) as F
}
