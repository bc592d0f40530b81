import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { commandLine, holdsSecret, quoteWord, secretAdvice } from '../command-line.ts'
import { type CommandLine, readLine, wordsBeforeFlags } from '../line/read-line.ts'
import { findAlias, isSentence } from './aliases.ts'
import { sentences } from './hints.ts'

/**
 * @param line a command line that names no command, or words after `chatctl chat` that may be a mistyped command: a
 *   message costs a request
 * @param ids every command that may be named
 */
export function unknownCommand(
  { path, leading, rest, isHelp = false }: Omit<CommandLine, 'id' | 'isHelp'> & { isHelp?: boolean },
  ids: readonly string[],
): Failure {
  const words = wordsBeforeFlags(rest)
  const [word] = words
  const typed = ['chatctl', ...path].join(' ')
  if (rest.some(holdsSecret)) {
    const hasSpace = rest.some((text) => /\s/.test(text))
    const send = hasSpace ? ['If it is a message without a secret, run: chatctl chat send MESSAGE'] : []
    return new Failure('usage', `Unknown command: ${typed} (hidden, it looks like a secret)`, {
      hint: sentences([secretAdvice, ...send]),
    })
  }
  if (word === undefined) {
    // What follows a = may be a secret.
    const flag = [...leading, ...rest][0]?.replace(/=.*/s, '') ?? ''
    const alias = findAlias(flag.toLowerCase())
    const place = path.length === 0 ? 'before' : `between ${typed} and`
    const rule = `Put flags after the command${path.length === 0 ? ', or after a message in quotes' : ''}.`
    return new Failure('usage', `There is no command ${place} ${flag}`, {
      hint: `${alias === undefined ? rule : `Did you mean ${alias}?`} See: ${typed} --help`,
    })
  }
  const guessed = guess(path, words, ids)
  const isMessage = !isHelp && (guessed === undefined || path.length === 0)
  const hints = [guessed, isMessage ? hintOfMessage(path, words) : undefined]
  const known = hints.filter((hint) => hint !== undefined)
  return new Failure('usage', `Unknown command: ${typed} ${word || '""'}`, {
    hint: sentences(known.length > 0 ? known : [`List the commands with: ${typed} --help`]),
  })
}

/** An alias, else the nearest command. */
function guess(
  path: readonly string[],
  [word = '', ...others]: readonly string[],
  ids: readonly string[],
): string | undefined {
  const prefix = path.map((name) => `${name}:`).join('')
  const known = ids
    .filter((id) => id.startsWith(prefix))
    .map((id) => id.slice(prefix.length).split(':')[0] ?? '')
  const quoted = readLine(word.trim().split(/\s+/), ids)
  if (quoted.path.length > 1 && quoted.rest.length === 0)
    return `Did you mean: chatctl ${quoted.path.join(' ')}`
  for (const meant of [word, findAlias(`* ${word}`)]) {
    if (meant === undefined) continue
    const names = [...path, meant, ...others.map((other) => findAlias(`* ${other}`) ?? other)]
    for (let length = Math.min(3, names.length); length > path.length; length--) {
      const alias = findAlias(names.slice(0, length).join(' '))
      if (alias === undefined) continue
      if (isSentence(alias)) return alias
      const words = alias === 'users update' ? updateWords(others) : []
      return `Did you mean: ${commandLine(...alias.split(' '), ...words)}`
    }
    if (known.includes(meant)) return `Did you mean: chatctl ${[...path, meant].join(' ')}`
  }
  // One letter of two makes another word: `cp` is not `up`.
  const near = word.length < 3 ? undefined : nearest(word, known)
  if (near !== undefined) return `Did you mean: chatctl ${[...path, near].join(' ')}`
  return path.length === 0 && word !== '' ? guess(['chat'], [word, ...others], ids) : undefined
}

/** The words of `users set ID KEY=VALUE` for `users update`; none if that has no such flag. */
function updateWords(words: readonly string[]): string[] {
  const flags = words.map((word) =>
    word.replace(/^metadata\./, '--metadata\0').replace(/^(name|theme|notifications)=/, '--$1\0'),
  )
  const isKnown = flags.every((word) => word.includes('\0') || !word.includes('='))
  return isKnown ? flags.flatMap((word) => word.split('\0')) : []
}

/** How to send the words as a message, which they may be. */
function hintOfMessage(path: readonly string[], words: readonly string[]): string | undefined {
  const message = quoteWord(words.join(' '))
  if (path.join(' ') === 'chat')
    return `For one message: chatctl chat send ${message}. To begin a session with it: chatctl chat -- ${message}`
  if (path.length > 0 || words[0] === '') return undefined
  return `To send it as a message: chatctl ${words.length > 1 ? '' : '-- '}${message}`
}
