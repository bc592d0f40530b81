import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { quoteWord } from '../command-line.ts'
import { flagHint } from '../errors/flag-hint.ts'
import { aliasPaths, findAlias } from './aliases.ts'
import { type Catalog, findId, fits, looksSecret, suggestCommand } from './command-catalog.ts'

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
  // What follows a = may be a secret.
  const flag = flags[0]?.replace(/=.*/s, '') ?? ''
  if (words.length === 0) {
    return new Failure('usage', `There is no command before ${flag}`, {
      hint: hintBeforeCommand(flag, argv, catalog),
    })
  }
  const depth = depthOf(words, catalog)
  const typed = ['chatctl', ...words.slice(0, depth)].join(' ')
  const rest = words.slice(depth)
  const meaning = words.some(looksSecret) ? secretAdvice : guess(words, flags, catalog)
  if (rest.length === 0) {
    return new Failure('usage', `There is no command between ${typed} and ${flag}`, {
      hint: meaning ?? `See: ${typed} --help`,
    })
  }
  const word = looksSecret(rest[0] ?? '') ? '(hidden, it looks like a secret)' : rest[0] || '""'
  const hint = meaning ?? hintAfter(typed, rest)
  // oclif takes the words after a command without arguments for the name of a longer one.
  const shape = catalog.get(words.slice(0, depth).join(':'))
  if (!shape) {
    const [, reason, next] = /^(The API of the service cannot [^.]*)\. (.*)$/.exec(hint) ?? []
    return new Failure('usage', reason ?? `Unknown command: ${typed} ${word}`, { hint: next ?? hint })
  }
  const name = rest[0]?.includes('@') ? 'email' : 'to'
  const readsSecret = shape.flags['with-api-key'] || shape.flags['password-stdin']
  const message = readsSecret ? 'Unexpected argument' : `Unexpected argument ${word}`
  const given = [`--${name}`, ...rest, ...flags]
  if (!words.some(looksSecret) && fits(shape, given)) {
    const line = suggestCommand(words.slice(0, depth).join(' '), given, catalog)
    return new Failure('usage', message, { hint: `Did you mean: ${line}` })
  }
  return new Failure('usage', message, { hint: readsSecret ? (meaning ?? secretAdvice) : hint })
}

/**
 * The failure of words after `chatctl chat` that are probably a mistyped command: a message costs a request.
 *
 * @param argv the words after `chat`, with flags
 * @param word the first that is no flag
 */
export function unexpectedAfterChat(argv: readonly string[], word: string, catalog: Catalog): Failure {
  if (!argv[0]?.startsWith('-')) return unknownCommand(['chat', ...argv], catalog)
  return new Failure('usage', `Unexpected argument ${word}`, {
    hint: looksSecret(word) ? secretAdvice : hintOfMessage(argv, catalog),
  })
}

/**
 * What a line that names no command was probably meant to be: as typed, with the noun first (`create user`), or
 * spelled right.
 */
function guess(words: readonly string[], flags: readonly string[], catalog: Catalog): string | undefined {
  const [first = '', second = '', ...others] = words
  const corrected = correct(words, catalog)
  const swapped = depthOf(corrected, catalog) > 0 ? corrected : correct([second, first, ...others], catalog)
  const orders = [words, corrected, swapped]
  for (const order of depthOf(swapped, catalog) > 0 ? orders.toReversed() : orders) {
    const line = { words: order, typed: words, flags, catalog }
    // An alias as it was typed has priority.
    const hint = guessAlias({ ...line, words }) ?? guessAlias(line) ?? guessName(line)
    if (hint !== undefined) return hint
  }
  const topic = corrected.slice(0, depthOf(corrected, catalog))
  return topic.length > 0 && !startsWith(words, topic)
    ? `Did you mean: chatctl ${topic.join(' ')}`
    : undefined
}

interface Line {
  words: readonly string[]
  typed: readonly string[]
  flags: readonly string[]
  catalog: Catalog
}

/** The command in place of the first words, with the others. */
function suggest(command: string, length: number, { words, flags, catalog }: Line): string {
  return suggestCommand(command, [...words.slice(length), ...flags], catalog)
}

function guessAlias(line: Line): string | undefined {
  const beginnings = line.words.slice(0, 3).map((_, index) => line.words.slice(0, index + 1).join(' '))
  const found = beginnings.findLastIndex((words) => findAlias(words) !== undefined)
  const alias = findAlias(beginnings[found] ?? '')
  if (alias === undefined || /^[A-Z]/.test(alias)) return alias
  return `Did you mean: ${suggest(alias, found + 1, line)}`
}

/** At most so many commands are offered. */
const maxOffered = 3

function guessName(line: Line): string | undefined {
  const { words, typed, catalog } = line
  const named = findId(words, catalog)?.split(':') ?? []
  if (!startsWith(typed, named)) return `Did you mean: ${suggest(named.join(' '), named.length, line)}`
  if (depthOf(words, catalog) > 0) return undefined
  // The group is missing: `login` is `auth login`.
  for (const length of [2, 1]) {
    const end = words.slice(0, length).join(':')
    const found = [...catalog.keys()].filter((id) => id.endsWith(`:${end}`))
    if (found.length === 0 || found.length > maxOffered) continue
    return `Did you mean: ${found.map((id) => suggest(id.replaceAll(':', ' '), length, line)).join(', or ')}`
  }
  return undefined
}

/** The words with the group of the command, and with a known word for each that is not known, if one is near. */
function correct(words: readonly string[], catalog: Catalog): string[] {
  const paths = [...catalog.keys()].map((id) => id.split(':'))
  const line: string[] = []
  const childrenIn = (paths: readonly string[][]): string[] =>
    paths.flatMap((path) => (startsWith(path, line) ? (path[line.length] ?? []) : []))
  for (const [index, word] of words.entries()) {
    const children = [...childrenIn(paths), ...childrenIn(aliasPaths)]
    if (children.length === 0) return [...line, ...words.slice(index)]
    const known = index > 0 ? children : [...children, ...paths.flat()]
    const choices = index > 0 ? childrenIn(paths) : known
    // One letter of two makes another word: `cp` is not `up`.
    const near = word.length < 3 ? word : (nearest(word, choices, 1) ?? word)
    const meant = known.includes(word) ? word : (findAlias(`* ${word}`) ?? near)
    // `keys list` is `service keys list`.
    const inner = paths.filter(([, second, third]) => index === 0 && second === meant && third !== undefined)
    const groups = new Set(children.includes(meant) ? [] : inner.map(([group = '']) => group))
    line.push(...(groups.size === 1 ? groups : []), meant)
  }
  return line
}

/** How many words from the first are a command or a topic. */
export function depthOf(words: readonly string[], catalog: Catalog): number {
  const paths = [...catalog.keys()].map((id) => id.split(':'))
  const end = words.findIndex(
    (_, index) => !paths.some((path) => startsWith(path, words.slice(0, index + 1))),
  )
  return end === -1 ? words.length : end
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => path[index] === word)
}

/** `llm -m MODEL hello` sends a message. */
function hintOfMessage(argv: readonly string[], catalog: Catalog): string {
  const send = catalog.get('chat:send')
  const isWhole = send !== undefined && fits(send, argv)
  return `For one message: ${isWhole ? suggestCommand('chat send', argv, catalog) : 'chatctl chat send MESSAGE'}`
}

function hintBeforeCommand(flag: string, argv: readonly string[], catalog: Catalog): string {
  if (/^-v$/i.test(flag)) return 'Did you mean: chatctl --version'
  if (/^(-m|--model)$/.test(flag) && argv.length > 2) return hintOfMessage(argv, catalog)
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
