import type { Options } from '../config/resolve-options.ts'

/** A command line to paste into a shell, with the profile and base URL from the flags of this run. */
export function commandFor({ options }: { options: Options }, ...words: readonly string[]): string {
  const { profile, base_url: baseUrl } = options
  const named = [
    ...(profile.source === 'flag' && profile.value ? ['--profile', profile.value] : []),
    ...(baseUrl.source === 'flag' && baseUrl.value ? ['--base-url', baseUrl.value] : []),
  ]
  return ['chatctl', ...words, ...named].map(quoteWord).join(' ')
}

/** A word as a POSIX shell reads it, and also PowerShell and cmd.exe if double quotes are enough. */
export function quoteWord(word: string): string {
  if (/^[\w./:@%+=,-]+$/.test(word)) return word
  return /["$`\\!%\n]/.test(word) || word === '' ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`
}

/** The command that runs. */
interface RunningCommand {
  id?: string | undefined
  /** The words after its name. */
  argv: readonly string[]
}

/**
 * The same command line with other values for some flags, to paste into a shell.
 *
 * @param flags the new values; undefined removes the flag
 * @param switches flags without a value to remove
 */
export function commandWith(
  { id = '', argv }: RunningCommand,
  flags: Record<string, string | undefined>,
  switches: readonly string[] = [],
): string {
  const names = Object.keys(flags)
  const kept = argv.filter((word, index) => {
    const isValue = names.some((name) => argv[index - 1] === `--${name}`)
    const isSwitch = switches.some((name) => word === `--${name}`)
    return (
      !isValue && !isSwitch && !names.some((name) => word === `--${name}` || word.startsWith(`--${name}=`))
    )
  })
  const added = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return ['chatctl', ...id.split(':'), ...kept, ...added].map(quoteWord).join(' ')
}
