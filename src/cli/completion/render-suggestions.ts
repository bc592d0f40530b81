import type { ShellLine } from './shell-line.ts'
import type { Candidate, Suggestions } from './suggestions.ts'

/**
 * What the scripts read: first a line with `words`, `files` or `directories`, and in bash `open` where no
 * space is to follow; then a line for each candidate, quoted as that shell has to be given it.
 */

export function renderForBash({ candidates, paths }: Suggestions, { quote, kept }: ShellLine): string {
  const isOpen = candidates.length > 0 && candidates.every((one) => one.isOpen)
  const first = `${paths ?? 'words'}${isOpen ? ' open' : ''}`
  return lines([first, ...candidates.map(({ value }) => quoteForBash(value.slice(kept), quote))])
}

function quoteForBash(text: string, quote: ShellLine['quote']): string {
  if (quote === "'") return text.replaceAll("'", `'\\''`)
  if (quote === '"') return text.replaceAll(/[$`"\\]/g, '\\$&')
  return text.replaceAll(/[\s\\'"`$&|;<>()*?[\]{}#!~^]/g, '\\$&')
}

/** `+` before what is to be gone on with; value and description with a colon between, as _describe has it. */
export function renderForZsh({ candidates, paths }: Suggestions): string {
  const shown = candidates.map(({ value, description, isOpen }) => {
    const name = value.replaceAll(/[\\:]/g, '\\$&')
    return `${isOpen ? '+' : ' '}${name}${description ? `:${description}` : ''}`
  })
  return lines([paths ?? 'words', ...shown])
}

/** fish quotes by itself, and puts no space behind `=`, `,` and `/`. */
export function renderForFish({ candidates, paths }: Suggestions): string {
  return lines([
    paths ?? 'words',
    ...candidates.map(({ value, description }) => described(value, description)),
  ])
}

/** The text to be put in, the text of the list, and the tip. */
export function renderForPowershell({ candidates, paths }: Suggestions): string {
  const shown = candidates.map(({ value, description }: Candidate) =>
    [quoteForPowershell(value), value, description || value].join('\t'),
  )
  return lines([paths ?? 'words', ...shown])
}

/** Single quotes, in which only they themselves need another (about_Quoting_Rules); curly ones count as well. */
function quoteForPowershell(text: string): string {
  return /^[\w./:=+-]+$/.test(text) ? text : `'${text.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`
}

function described(value: string, description: string | undefined): string {
  return description ? `${value}\t${description}` : value
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
