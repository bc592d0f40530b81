import { stripVTControlCharacters } from 'node:util'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { asksSecret, quoteWord, secretAdvice } from '../command-line.ts'
import { findAlias, isSentence } from './aliases.ts'
import { sentences } from './hints.ts'

/** What an error about a command line can refer to. */
export interface Usage {
  /** ID of the command, such as `settings:get`. */
  id: string
  flags: readonly string[]
  /** Whether its one argument is a text, which users may type without quotes. */
  takesText: boolean
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

/** Turns oclif's errors about a command line into failures. @returns other errors unchanged */
export function usageFailure(error: unknown, { id, flags, takesText }: Usage): unknown {
  if (!isParseError(error)) return error
  const command = `chatctl ${id.replaceAll(':', ' ')}`
  const help = `See: ${command} --help`
  if (error.flags) {
    // The part after = is not repeated, because it may be a secret.
    const unknown = error.flags[0]?.replace(/=.*/s, '') ?? ''
    const hints = [flagHint(unknown, command, flags), help].filter((hint) => hint !== undefined)
    return new Failure('usage', `Unknown flag ${unknown}`, { hint: sentences(hints) })
  }
  if (!error.args) return new Failure('usage', tidy(error.message), { hint: help })
  const extra = error.args.filter((arg) => typeof arg === 'string')
  if (extra.length === 0) {
    const missing = error.args.flatMap((arg) => (typeof arg === 'string' ? [] : [arg]))
    const names = missing.map(({ name }) => name.toUpperCase()).join(', ')
    const options = missing.flatMap((arg) => arg.options ?? [])
    const choices = options.length === 0 ? '' : `One of ${options.join(', ')}. `
    return new Failure('usage', `Missing argument ${names}`, { hint: choices + help })
  }
  // The argument is not repeated, because it may be a secret.
  if (flags.some((flag) => readsSecret.has(flag)))
    return new Failure('usage', 'Unexpected argument', { hint: secretAdvice })
  const words = error.parse?.output?.argv ?? []
  // A text in quotes is complete: the other word may be the value of a flag.
  const lacksQuotes = takesText && !/\s/.test(String(words[0]))
  return new Failure('usage', `Unexpected argument ${extra.join(' ')}`, {
    hint: lacksQuotes ? `Put the words in quotes: ${command} ${quoteWord(words.join(' '))}` : help,
  })
}

/** What an unknown flag was probably meant to be: what other tools call one, else the nearest. */
function flagHint(flag: string, command: string, known: readonly string[]): string | undefined {
  const name = flag.replace(/^-+/, '').replaceAll('_', '-')
  const alias =
    findAlias(`${command.slice('chatctl '.length)} --${name}`) ?? findAlias(flag.replaceAll('_', '-'))
  if (alias !== undefined && isSentence(alias)) return alias
  if (asksSecret.test(name.toLowerCase())) {
    const sources = known.filter((other) => /^(password-|generate-password)/.test(other))
    if (!/pass/i.test(name) || sources.length === 0) return secretAdvice
    return `Do not pass a password as an argument. Use ${sources.map((other) => `--${other}`).join(', or ')}`
  }
  const ours = alias?.slice('--'.length) ?? name
  const meant = known.includes(ours) ? ours : name.length < 2 ? undefined : nearest(name, known)
  return meant === undefined ? findAlias(`--${ours}`) : `Did you mean --${meant}?`
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
      // Only the first of two flags that exclude each other.
      /^--([\w-]+)=(.*?) cannot also be provided when using (--\S+).*$/s,
      (_, flag, value, other) =>
        `${other} and --${value === 'false' ? 'no-' : ''}${flag} cannot be used together`,
    )
    .replace(/^One of the following must be provided when using (--\S+): (--\S+), /, '$1 requires $2 or ')
    .replace(/^All of the following must be provided when using (--\S+): /, '$1 requires ')
    .replace(
      /^Expected (?:(--[\w-]+)=)?(.*) to be one of: /s,
      (_, flag, value) => `${flag === undefined ? '' : `${flag}: `}"${value}" is not one of `,
    )
    .trim()
}
