import { Failure } from '../contract/failure.ts'
import { nearest } from '../contract/nearest-word.ts'
import { quoteWord } from './command-line.ts'
import { flagHint } from './flag-hint.ts'
import { sharedFlags } from './shared-flags.ts'
import { findSynonym, findWordSynonym } from './synonyms.ts'

/**
 * @param argv a command line that names no command
 * @param ids every command that may be named, `settings:api:set`
 */
export function unknownCommand(argv: readonly string[], ids: readonly string[]): Failure {
  const words = leadingWords(argv)
  if (words.length === 0) {
    // What follows a = may be a secret.
    const flag = argv[0]?.replace(/=.*/s, '') ?? ''
    return new Failure('usage', `There is no command before ${flag}`, { hint: hintBeforeCommand(flag) })
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
  const likely = [...choices].filter((choice) => !isOpposite(choice, wrong))
  const found = findWordSynonym(wrong, choices) ?? nearest(wrong, likely)
  const synonym = findSynonym(words)
  const meant = synonym ?? (found === undefined ? undefined : `${typed} ${found}`)
  // oclif takes the words after a command without arguments for the name of a longer one.
  if (ids.includes(known.join(':'))) {
    const hint = meant ? `Did you mean: ${meant}` : hintBehind(typed, words.slice(depth))
    return new Failure('usage', `Unexpected argument ${wrong || '""'}`, { hint })
  }
  return new Failure('usage', `Unknown command: ${typed} ${wrong || '""'}`, {
    hint:
      absentHint(known, wrong) ??
      (meant
        ? `Did you mean: ${meant}`
        : (elsewhereHint(paths, wrong) ?? hintBehind(typed, words.slice(depth)))),
  })
}

function hintBeforeCommand(flag: string): string {
  if (/^-v$/i.test(flag)) return 'Did you mean: chatctl --version'
  const known = ['version', ...Object.keys(sharedFlags)]
  const meant = known.includes(flag.slice(2)) ? undefined : flagHint(flag, known)
  return meant === undefined
    ? 'A command begins with its words: chatctl --help'
    : `${meant} See: chatctl --help`
}

/** One letter from what was meant, and the reverse of it. */
function isOpposite(choice: string, wrong: string): boolean {
  return choice === 'set' && /^(get|unset|reset)$/.test(wrong)
}

const listHint =
  'The service has no list of its users, but one by its id: chatctl users get ID. For an embedded one, on its machine: chatctl service users list'

/** What other tools have, and no request of the service does. */
function absentHint(known: readonly string[], wrong: string): string | undefined {
  const topic = known.join(' ')
  if (topic === 'users' && /^(list|ls|search|find)$/.test(wrong)) return listHint
  if (topic === 'users' && /^(delete|remove|rm)$/.test(wrong)) return 'The service cannot delete a user.'
  if (topic === 'service' && wrong === 'stop') return 'Ctrl-C or SIGTERM stops chatctl service run.'
  const isOfApi = topic === 'settings api' && /^(get|show|list)$/.test(wrong)
  return isOfApi ? 'The service has no request that shows its API configuration.' : undefined
}

/** Commands that end with the word elsewhere: `login` is `auth login`. */
function elsewhereHint(paths: readonly (readonly string[])[], wrong: string): string | undefined {
  const found = paths.filter((path) => path.at(-1) === wrong).map((path) => ['chatctl', ...path].join(' '))
  return found.length > 0 && found.length <= mostOffered ? `Did you mean: ${found.join(', or ')}` : undefined
}

const mostOffered = 3

/** What stands behind `chatctl chat`, or is quoted, is a message to many a newcomer. */
function hintBehind(typed: string, words: readonly string[]): string {
  const isMessage = typed === 'chatctl chat' || (typed === 'chatctl' && /\s/.test(words[0]?.trim() ?? ''))
  if (isMessage) return `For one message: chatctl chat send ${quoteWord(words.join(' '))}`
  return typed === 'chatctl' ? 'chatctl help' : `See: ${typed} --help`
}

/** The words before the first flag. */
export function leadingWords(argv: readonly string[]): readonly string[] {
  const end = argv.findIndex((word) => word.startsWith('-'))
  return end === -1 ? argv : argv.slice(0, end)
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => path[index] === word)
}
