import { stripVTControlCharacters } from 'node:util'
import { Failure } from '../../contract/failure.ts'
import { readCodeSelection } from '../../terminal/markdown/code-selection.ts'
import { quoteWord } from '../command-line.ts'
import type { Catalog } from '../unknown-command/command-catalog.ts'
import { unexpectedAfterChat } from '../unknown-command/unknown-command.ts'
import { flagHint } from './flag-hint.ts'

/** What an error about a command line can refer to. */
export interface Usage {
  /** ID of the command, such as `settings:get`. */
  id: string
  /** The words after it. */
  argv: readonly string[]
  readCatalog(): Catalog
  flags: readonly string[]
  /** Whether its one argument is a text, which users may type without quotes. */
  takesText?: boolean
}

/** Flags of commands that read a secret, which users may type as an argument. */
const readsSecret = new Set(['with-api-key', 'password-stdin'])

/** What oclif adds to an error about a command line. Only these fields tell the errors apart. */
interface ParseError extends Error {
  oclif?: { exit?: number }
  flags?: string[]
  args?: (string | { name: string; options?: readonly string[] })[]
  parse?: { output?: { argv?: unknown[] } }
}

/**
 * Turns oclif's errors about a command line into failures, with a corrected command.
 *
 * @returns other errors unchanged
 */
export function usageFailure(error: unknown, usage: Usage): unknown {
  if (!isParseError(error)) return error
  const { id, argv, flags } = usage
  const command = `chatctl ${id.replaceAll(':', ' ')}`
  const hint = `${command} --help`
  if (error.flags) {
    // The part after = is not repeated, because it may be a secret.
    const unknown = error.flags[0]?.replace(/=.*/s, '') ?? ''
    const meant = flagHint(unknown, { known: flags, line: { id, argv, catalog: usage.readCatalog() } })
    return new Failure('usage', `Unknown flag ${unknown}`, {
      hint: meant
        ? meant.endsWith('.') || meant.endsWith('?')
          ? `${meant} See: ${hint}`
          : meant
        : `See: ${hint}`,
    })
  }
  if (error.args) {
    const names = error.args.map((arg) => (typeof arg === 'string' ? arg : arg.name.toUpperCase()))
    const extra = error.args.some((arg) => typeof arg === 'string')
    if (extra && flags.some((flag) => readsSecret.has(flag))) {
      // The argument is not repeated, because it may be a secret.
      const next = `Do not pass a key or a password as an argument, because other users of this machine can read it. See: ${hint}`
      return new Failure('usage', 'Unexpected argument', { hint: next })
    }
    const words = extra ? `Unexpected argument ${names.join(' ')}` : `Missing argument ${names.join(', ')}`
    const typed = error.parse?.output?.argv ?? []
    const catalog = usage.readCatalog()
    if (extra && id === 'chat') return unexpectedAfterChat(argv, names[0] ?? '', catalog)
    if (extra && usage.takesText && typed.includes('-')) {
      const text = quoteWord(typed.filter((word) => word !== '-').join(' '))
      return new Failure('usage', 'A message and - cannot be used together', {
        hint: `Text from a pipe is added to the message without -. Run: ${command} ${text}`,
      })
    }
    const valueAt = argv.findIndex((word) => /^(-\w*x|--extract)$/.test(word)) + 1
    const number = valueAt > 0 ? (argv[valueAt] ?? '') : ''
    if (extra && flags.includes('extract') && readCodeSelection(number) !== undefined) {
      const text = typed.filter((word) => word !== number).join(' ')
      return new Failure('usage', words, {
        hint: `The value of --extract is attached: ${command} --extract=${number} ${quoteWord(text)}`,
      })
    }
    if (extra && usage.takesText) {
      const text = quoteWord(typed.join(' '))
      return new Failure('usage', words, { hint: `Put the words in quotes: ${command} ${text}` })
    }
    if (extra && /^(settings|users):(apply|diff)$/.test(id)) {
      const others = names.map((name) => `--file ${quoteWord(name)}`).join(' ')
      return new Failure('usage', words, { hint: `To give another file, use: ${others}` })
    }
    return new Failure('usage', words, { hint: `${choicesOf(error)}See: ${hint}` })
  }
  const message = tidy(error.message)
  const isContinue = message.includes('--context expects a value') && flags.includes('continue')
  return new Failure('usage', message, { hint: isContinue ? continueHint : `See: ${hint}` })
}

/** In other tools, `-c` continues the last conversation. */
const continueHint = 'Continue the last conversation with: --continue'

function choicesOf({ args = [] }: ParseError): string {
  const options = args.flatMap((arg) => (typeof arg === 'string' ? [] : (arg.options ?? [])))
  return options.length === 0 ? '' : `One of ${options.join(', ')}. `
}

function isParseError(error: unknown): error is ParseError {
  return error instanceof Error && ('oclif' in error || error.message.startsWith('Parsing --'))
}

function tidy(message: string): string {
  return stripVTControlCharacters(message)
    .replace(/\n?See more help with --help/g, '')
    .replace(/^The following errors? occurred:\s*/, '')
    .replace(/^Parsing (--\S+)\s+/, '$1: ')
    .replace(/^Missing required flag (\S+)/, 'Missing flag --$1')
    .replace(
      /^--([\w-]+)=(.*) cannot also be provided when using (--\S+)$/s,
      (_, flag, value, other) =>
        `${other} and --${value === 'false' ? 'no-' : ''}${flag} cannot be used together`,
    )
    .replace(/^All of the following must be provided when using (--\S+): /, '$1 requires ')
    .replace(
      /^Expected (?:(--[\w-]+)=)?(.*) to be one of: /s,
      (_, flag, value) => `${flag === undefined ? '' : `${flag}: `}"${value}" is not one of `,
    )
    .trim()
}
