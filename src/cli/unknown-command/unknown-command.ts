import { Failure } from '../../contract/failure.ts'
import { quoteWord } from '../command-line.ts'
import { flagHint } from '../flag-hint.ts'
import type { Catalog } from './command-catalog.ts'
import { depthOf, guessCommand } from './guess-command.ts'
import { fits, looksSecret, suggestCommand } from './suggest-command.ts'

/**
 * @param argv a command line that names no command
 * @param catalog every command that may be named
 */
export function unknownCommand(argv: readonly string[], catalog: Catalog): Failure {
  const end = argv.findIndex((word) => word.startsWith('-'))
  const words = (end === -1 ? argv : argv.slice(0, end)).flatMap((word, index) =>
    index === 0 && /^[\w-]+(:[\w-]+)+$/.test(word) ? word.split(':') : [word],
  )
  const flags = end === -1 ? [] : argv.slice(end)
  if (words.length === 0) {
    // What follows a = may be a secret.
    const flag = argv[0]?.replace(/=.*/s, '') ?? ''
    return new Failure('usage', `There is no command before ${flag}`, {
      hint: hintOfMessage(argv, catalog) ?? hintBeforeCommand(flag, catalog),
    })
  }
  const depth = depthOf(words, catalog)
  const typed = ['chatctl', ...words.slice(0, depth)].join(' ')
  const rest = words.slice(depth)
  const meaning = words.some(looksSecret) ? secretAdvice : guessCommand(words, flags, catalog)
  if (rest.length === 0) {
    const flag = flags[0]?.replace(/=.*/s, '') ?? ''
    return new Failure('usage', `There is no command between ${typed} and ${flag}`, {
      hint: meaning ?? hintOfTopic(words, flags, catalog) ?? `See: ${typed} --help`,
    })
  }
  // oclif takes the words after a command without arguments for the name of a longer one.
  const id = words.slice(0, depth).join(':')
  const shape = catalog.get(id)
  if (!shape) {
    const [, reason, next] = /^(The API of the service cannot [^.]*)\. (.*)$/.exec(meaning ?? '') ?? []
    if (reason !== undefined) return new Failure('usage', reason, { hint: next })
    return new Failure('usage', `Unknown command: ${typed} ${nameWord(rest[0])}`, {
      hint: meaning ?? hintAfter(typed, rest),
    })
  }
  if (shape.flags['email'] && rest[0]?.includes('@')) {
    const line = suggestCommand(`${id.replaceAll(':', ' ')} --email EMAIL`, [...rest, ...flags], catalog)
    return new Failure('usage', 'Unexpected argument', { hint: `Did you mean: ${line}` })
  }
  if (shape.flags['to'] && rest.length === 1 && !words.some(looksSecret)) {
    const line = suggestCommand(`${id.replaceAll(':', ' ')} --to FILE`, [...rest, ...flags], catalog)
    return new Failure('usage', `Unexpected argument ${nameWord(rest[0])}`, { hint: `Did you mean: ${line}` })
  }
  const readsSecret = shape.flags['with-api-key'] || shape.flags['password-stdin']
  const message = readsSecret ? 'Unexpected argument' : `Unexpected argument ${nameWord(rest[0])}`
  return new Failure('usage', message, {
    hint: meaning ?? (readsSecret ? secretAdvice : hintAfter(typed, rest)),
  })
}

/**
 * The failure of words after `chatctl chat` that are probably a mistyped command: a message costs a request.
 *
 * @param argv the words after `chat`, with flags
 * @param word the first that is no flag
 */
export function unexpectedAfterChat(argv: readonly string[], word: string, catalog: Catalog): Failure {
  if (!argv[0]?.startsWith('-')) return unknownCommand(['chat', ...argv], catalog)
  const send = catalog.get('chat:send')
  const line =
    send && fits(send, argv) ? suggestCommand('chat send', argv, catalog) : 'chatctl chat send MESSAGE'
  return new Failure('usage', `Unexpected argument ${nameWord(word)}`, { hint: `For one message: ${line}` })
}

/** The commands of a topic that take the flags: `history --limit 3` is `history list --limit 3`. */
function hintOfTopic(
  words: readonly string[],
  flags: readonly string[],
  catalog: Catalog,
): string | undefined {
  const found = [...catalog].flatMap(([id, shape]) => {
    return id.startsWith(`${words.join(':')}:`) && fits(shape, flags) ? [id.replaceAll(':', ' ')] : []
  })
  if (found.length === 0 || found.length > 3) return undefined
  return `Did you mean: ${found.map((line) => suggestCommand(line, flags, catalog)).join(', or ')}`
}

/** A word for an error; one that may be a secret is not repeated. */
function nameWord(word = ''): string {
  return looksSecret(word) ? '(hidden, it looks like a secret)' : word || '""'
}

/** `llm -m MODEL hello` sends a message. */
function hintOfMessage(argv: readonly string[], catalog: Catalog): string | undefined {
  const send = catalog.get('chat:send')
  const isMessage = /^(-m|--model)$/.test(argv[0] ?? '') && argv.length > 2
  return isMessage && send && fits(send, argv)
    ? `For one message: ${suggestCommand('chat send', argv, catalog)}`
    : undefined
}

function hintBeforeCommand(flag: string, catalog: Catalog): string {
  if (/^-v$/i.test(flag)) return 'Did you mean: chatctl --version'
  const [first, ...others] = catalog.values()
  const shared = Object.keys(first?.flags ?? {}).filter((name) => others.every(({ flags }) => name in flags))
  const known = ['version', ...shared]
  const meant = known.includes(flag.slice(2)) ? undefined : flagHint(flag, { known })
  return meant === undefined
    ? 'Flags come after the command. List the commands with: chatctl --help'
    : `${meant} See: chatctl --help`
}

/** Words after `chatctl chat`, or in quotes, were probably meant as a message. */
function hintAfter(typed: string, words: readonly string[]): string {
  const isMessage = typed === 'chatctl chat' || (typed === 'chatctl' && /\s/.test(words[0]?.trim() ?? ''))
  if (isMessage) {
    const message = words.join(' ')
    const quoted = quoteWord(message)
    const session = /\s/.test(message) ? quoted : `-- ${quoted}`
    return `For one message: chatctl chat send ${quoted}. To begin a session with it: chatctl chat ${session}`
  }
  return typed === 'chatctl' ? 'List the commands with: chatctl --help' : `See: ${typed} --help`
}

const secretAdvice =
  'Do not pass a key or a password as an argument, because other users of this machine can read it. Sign in with: chatctl auth login --with-api-key'
