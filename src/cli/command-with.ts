import { quoteWord } from './quote-word.ts'

/** What is known of a command that runs. */
interface RunningCommand {
  id?: string | undefined
  /** Its words after its name. */
  argv: readonly string[]
}

/**
 * The same command line with other values of some flags, to be pasted into a shell.
 *
 * @param flags undefined: without that one
 * @param switches flags without a value that are left out
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
