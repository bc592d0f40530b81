import { posix, win32 } from 'node:path'
import { Failure } from '../contract/failure.ts'
import type { Command } from './run-command.ts'

/**
 * A command line that is run without a shell.
 * @param name of the command, for errors
 * @throws Failure `usage` if it has no program, needs a shell, or names a program below the working directory
 */
export function readCommand(line: string, name: string, platform = process.platform): Command {
  const shellSyntax: string[] = []
  const words = splitCommand(line, (syntax) => shellSyntax.push(syntax), platform)
  const [program, ...rest] = words ?? []
  const invalid = (why: string, hint: string) =>
    new Failure('usage', `Invalid ${name}: "${line}": ${why}`, { hint })
  if (words === undefined) throw invalid('a quote is not closed', 'Close each quote.')
  if (!program) throw invalid('it has no program', 'Give a program and its arguments.')
  if (shellSyntax[0] !== undefined) {
    throw invalid(
      `it runs without a shell, but ${shellSyntax[0]} needs one`,
      `Put the character in single quotes if it is part of an argument. Otherwise, write a script, and use its absolute path.`,
    )
  }
  const { isAbsolute } = platform === 'win32' ? win32 : posix
  // C:op is a file in the working directory of that drive.
  const isPath = (platform === 'win32' ? /[/\\:]/ : /[/\\]/).test(program)
  if (isPath && !isAbsolute(program)) {
    throw invalid(
      `"${program}" is another program in each directory`,
      'Use an absolute path, or the name of a program in PATH.',
    )
  }
  return [program, ...rest]
}

/** What a POSIX shell would expand at the beginning of a word, and where a `$` begins an expansion. */
const [wordBeginnings, expansion] = [/[~#]/, /[\w{(@*#?$!-]/]

/**
 * The words of a command line that is run without a shell: separated by spaces, with single quotes, double quotes,
 * and a backslash outside of single quotes as in a POSIX shell (IEEE Std 1003.1, "Quoting"). Nothing is expanded.
 * On Windows, a backslash separates directories, and has no other meaning.
 * @param onShellSyntax called with what a shell would not take literally, except patterns such as `*`
 * @returns undefined if a quote is not closed, or the line ends with a backslash
 */
export function splitCommand(
  line: string,
  onShellSyntax: (character: string) => void = () => {},
  platform: NodeJS.Platform = process.platform,
): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    const next = line[at + 1]
    if (character === '\\' && quote !== "'" && platform !== 'win32') {
      if (next === undefined) return undefined
      // Within double quotes, a backslash before any other character is a backslash.
      const isEscape = quote === undefined || '"\\$`'.includes(next)
      word = (word ?? '') + (isEscape ? next : character + next)
      at++
    } else if (character === quote) quote = undefined
    else if (quote === undefined && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (quote === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      const isBeginning = word === undefined && quote === undefined && wordBeginnings.test(character)
      const isOperator = quote === undefined && '|&;<>()'.includes(character)
      const isExpansion = character === '`' || (character === '$' && expansion.test(next ?? ''))
      if (isBeginning || isOperator || (isExpansion && quote !== "'")) onShellSyntax(character)
      word = (word ?? '') + character
    }
  }
  if (quote !== undefined) return undefined
  return word === undefined ? words : [...words, word]
}
