import { readFlags } from './completion/typed-line.ts'
import { mayOmitValue, omittedValue, takesNextWord, type ValuedFlag } from './flags/optional-value.ts'

/** Attaches `omittedValue` to flags without their optional value. The parser of oclif always takes the next word. */
export function markOmittedValues(
  argv: readonly string[],
  flags: Record<string, ValuedFlag & { char?: string | undefined }>,
): string[] {
  const known = Object.entries(flags).map(([name, flag]) => ({ ...flag, name }))
  if (!known.some(mayOmitValue)) return [...argv]
  let isValue = false
  let isPastFlags = false
  return argv.map((word, index) => {
    isPastFlags ||= word === '--' && !isValue
    const given = isValue || isPastFlags ? undefined : readFlags(word, known).at(-1)
    isValue = false
    if (given?.flag.type !== 'option' || given.value !== undefined) return word
    const next = argv[index + 1]
    isValue = next !== undefined && takesNextWord(given.flag, next)
    return isValue || !mayOmitValue(given.flag) ? word : `${word}=${omittedValue}`
  })
}
