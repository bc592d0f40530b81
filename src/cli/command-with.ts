import { quoteWord } from './quote-word.ts'

/** What is known of a command that runs. */
interface RunningCommand {
  id?: string | undefined
  /** Its words after its name. */
  argv: readonly string[]
}

/** The same command line with another value of a flag, to be pasted into a shell. */
export function commandWith({ id = '', argv }: RunningCommand, flag: Record<string, string>): string {
  const [[name, value] = ['', '']] = Object.entries(flag)
  const kept = argv.filter((word, index) => {
    const isValue = argv[index - 1] === `--${name}`
    return !isValue && word !== `--${name}` && !word.startsWith(`--${name}=`)
  })
  return ['chatctl', ...id.split(':'), ...kept, `--${name}`, value].map(quoteWord).join(' ')
}
