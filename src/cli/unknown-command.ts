import { Failure } from '../failure.ts'
import { nearest } from '../nearest.ts'
import { quoteWord } from './quote-word.ts'

/**
 * @param argv a command line that names no command
 * @param ids every command, `settings:api:set`
 */
export function unknownCommand(argv: readonly string[], ids: readonly string[]): Failure {
  const words = leadingWords(argv)
  if (words.length === 0) {
    return new Failure('usage', `There is no command before ${argv[0]}`, {
      hint: 'A command begins with its words: chatctl --help',
    })
  }
  const paths = ids.map((id) => id.split(':'))
  let depth = 0
  while (depth < words.length && paths.some((path) => startsWith(path, words.slice(0, depth + 1)))) depth++
  const known = words.slice(0, depth)
  const wrong = words[depth] ?? ''
  const choices = new Set(
    paths.filter((path) => startsWith(path, known)).flatMap((path) => path.slice(depth, depth + 1)),
  )
  const typed = ['chatctl', ...known].join(' ')
  const meant = nearest(wrong, [...choices])
  // oclif takes the words after a command without arguments for the name of a longer one.
  if (ids.includes(known.join(':'))) {
    const hint = meant ? `Did you mean: ${typed} ${meant}` : hintBehind(typed, words.slice(depth))
    return new Failure('usage', `Unexpected argument ${wrong || '""'}`, { hint })
  }
  return new Failure('usage', `Unknown command: ${typed} ${wrong || '""'}`, {
    hint: meant ? `Did you mean: ${typed} ${meant}` : `${typed} --help`,
  })
}

/** What stands behind `chatctl chat` is a message to many a newcomer. */
function hintBehind(typed: string, words: readonly string[]): string {
  const isMessage = typed === 'chatctl chat'
  return isMessage ? `For one message: ${typed} send ${quoteWord(words.join(' '))}` : `See: ${typed} --help`
}

function leadingWords(argv: readonly string[]): readonly string[] {
  const end = argv.findIndex((word) => word.startsWith('-'))
  return end === -1 ? argv : argv.slice(0, end)
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => path[index] === word)
}
