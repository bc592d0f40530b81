import { readBooleanVariable } from '../../config/option-values.ts'
import { Failure } from '../../contract/failure.ts'
import { omittedValue } from '../flags/flag-types.ts'
import { mayOmitValue, namedFlags, type ReadableFlag, readFlags, readWords, takesValue } from './read-line.ts'

type Flags = Record<string, Omit<ReadableFlag, 'name'>>

/**
 * The words as the parser of oclif needs them: with `omittedValue` attached to flags without their optional value,
 * because oclif always takes the next word.
 * @throws Failure `usage` for `--json=true`. oclif takes the part after = for an argument, which would be sent as a
 *   message or looked up as a user.
 */
export function markOmittedValues(argv: readonly string[], flags: Flags): string[] {
  const known = namedFlags(flags)
  let isValue = false
  let isPastFlags = false
  return argv.map((word, index) => {
    isPastFlags ||= word === '--' && !isValue
    const given = isValue || isPastFlags ? undefined : readFlags(word, known).at(-1)
    isValue = false
    if (!given) return word
    const { flag, value } = given
    if (flag.type === 'boolean' && value !== undefined) throw valuedSwitch(word)
    if (flag.type === 'boolean' || value !== undefined) return word
    const next = argv[index + 1]
    isValue = next !== undefined && takesValue(flag, next, new Map())
    return isValue || !mayOmitValue(flag) ? word : `${word}=${omittedValue}`
  })
}

/** The value is not repeated, because it may be a secret. */
function valuedSwitch(word: string): Failure {
  const name = word.slice(0, word.indexOf('='))
  return new Failure('usage', `${name} does not take a value`, {
    hint: `Use ${name} without a value, or omit it.`,
  })
}

type FlagsWithVariables = Record<string, Omit<ReadableFlag, 'name'> & FlagRules>

interface FlagRules {
  env?: string | undefined
  exclusive?: readonly string[] | undefined
  dependsOn?: readonly string[] | undefined
}

/**
 * The words by which a command line would say what the environment says. They go before its own. The line takes
 * precedence: a variable of a value is ignored if the line has its flag, or one that excludes it, or lacks one that it
 * requires. oclif itself asks the environment of the process, and this run may have another.
 * @throws Failure `usage` for an unknown word in the variable of a flag that takes no value
 */
export function wordsFromEnvironment(
  flags: FlagsWithVariables,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): string[] {
  const line = readWords(argv, namedFlags(flags)).flags
  const isOverruled = (name: string, { exclusive = [], dependsOn = [] }: FlagRules): boolean =>
    [name, ...exclusive].some((other) => line.has(other)) ||
    [...line.keys()].some((other) => flags[other]?.exclusive?.includes(name)) ||
    dependsOn.some((other) => !line.has(other))
  return Object.entries(flags).flatMap(([name, flag]) => {
    const value = flag.env === undefined ? undefined : env[flag.env]
    if (flag.env === undefined || !value) return []
    if (flag.type === 'option') return isOverruled(name, flag) ? [] : [`--${name}=${value}`]
    // Never ignored: without CHATCTL_DRY_RUN, the command would make its change.
    return readBooleanVariable(flag.env, env) ? [`--${name}`] : []
  })
}

export function withoutVariables<F extends object>(flags: F): F {
  const entries = Object.entries(flags).map(([name, flag]) => [name, { ...flag, env: undefined }])
  return Object.fromEntries(entries) as F
}
