import type { Candidate, Suggestions } from './suggestions.ts'

/** A command line as bash reads it, as far as the cursor. */
interface ShellLine {
  /** Without their quotes; the one at the cursor last, empty behind a space. */
  words: readonly string[]
  /** The quote in which the cursor stands. */
  quote: '"' | "'" | undefined
  /** How many characters of the last word bash does not replace: it counts from where it breaks words. */
  kept: number
}

/** Inside double quotes a backslash before any other is literal (POSIX, 2.2.3). */
const escapable = '$`"\\\n'

/** @param breaks COMP_WORDBREAKS: bash goes on behind the last of these */
export function readShellLine(line: string, breaks: string): ShellLine {
  const words: string[] = []
  let word = ''
  let isOpen = false
  let quote: ShellLine['quote']
  let kept = 0
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? ''
    if (quote === undefined && /\s/.test(character)) {
      if (isOpen) words.push(word)
      word = ''
      isOpen = false
      kept = 0
      continue
    }
    isOpen = true
    const next = line[at + 1]
    if (quote !== undefined && character === quote) quote = undefined
    else if (quote === undefined && (character === '"' || character === "'")) {
      quote = character
      kept = word.length
    } else if (
      character === '\\' &&
      quote !== "'" &&
      (quote === undefined || escapable.includes(next ?? ''))
    ) {
      word += next ?? ''
      at++
    } else {
      word += character
      if (quote === undefined && breaks.includes(character)) kept = word.length
    }
  }
  return { words: [...words, word], quote, kept }
}

/**
 * The output for the scripts. The first line is `words`, `files`, or `directories`, followed in bash by `open`
 * if no space follows. In zsh it is `found` if the words need not begin with the typed one. Then one line for each candidate, quoted for that shell.
 */

export function renderForBash({ candidates, paths, areFound }: Suggestions, line: ShellLine): string {
  const isOpen = candidates.length > 0 && candidates.every((one) => one.isOpen)
  const first = `${paths ?? 'words'}${isOpen ? ' open' : ''}`
  const values = candidates.map(({ value }) => value)
  // Otherwise, bash would replace the word by the common beginning of several.
  if (areFound && values.length > 1) values.push(line.words.at(-1) ?? '')
  return lines([first, ...values.map((value) => quoteForBash(value.slice(line.kept), line.quote))])
}

function quoteForBash(text: string, quote: ShellLine['quote']): string {
  if (quote === "'") return text.replaceAll("'", `'\\''`)
  if (quote === '"') return text.replaceAll(/[$`"\\]/g, '\\$&')
  return text.replaceAll(/[\s\\'"`$&|;<>()*?[\]{}#!~^]/g, '\\$&')
}

/** `+` if the word can be continued; then `value:description`, the syntax of _describe. */
export function renderForZsh({ candidates, paths, areFound = false }: Suggestions): string {
  const shown = candidates.map(({ value, description, isOpen }) => {
    const name = value.replaceAll(/[\\:]/g, '\\$&')
    return `${isOpen ? '+' : ' '}${name}${description ? `:${description}` : ''}`
  })
  return lines([paths ?? (areFound ? 'found' : 'words'), ...shown])
}

/** fish quotes the values itself, and adds no space after `=`, `,`, and `/`. */
export function renderForFish({ candidates, paths }: Suggestions): string {
  return lines([
    paths ?? 'words',
    ...candidates.map(({ value, description }) => (description ? `${value}\t${description}` : value)),
  ])
}

/** The text to insert, the text of the list, and the tooltip. */
export function renderForPowershell({ candidates, paths }: Suggestions): string {
  const shown = candidates.map(({ value, description }: Candidate) =>
    [quoteForPowershell(value), value, description || value].join('\t'),
  )
  return lines([paths ?? 'words', ...shown])
}

/** In single quotes, only single quotes are doubled, also curly ones (about_Quoting_Rules). */
function quoteForPowershell(text: string): string {
  return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
