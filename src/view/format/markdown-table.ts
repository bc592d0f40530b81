import { fenceFor } from '../../contract/resources/file-block.ts'
import { showControls } from '../../terminal/strip-controls.ts'

/**
 * A table of GitHub Flavored Markdown. Each value is code, in which nothing is a link, a mention of a person, a
 * reference to an issue, or HTML.
 */
export function markdownTable(headings: readonly string[], rows: Iterable<readonly string[]>): string {
  const titles = headings.map((text) => (/^[a-z0-9]+( [a-z0-9]+)*$/i.test(text) ? text : cell(text)))
  const lines = [titles, headings.map(() => '---'), ...Array.from(rows, (row) => row.map(cell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** A text as code on one line of a paragraph. */
export function codeSpan(text: string): string {
  const shown = showControls(text)
  if (shown === '') return ''
  const fence = fenceFor(shown, 1)
  // A reader removes one space at both ends of a span, unless it contains only spaces.
  const isPadded = /^`|`$/.test(shown) || (/^ .* $/.test(shown) && shown.trim() !== '')
  return isPadded ? `${fence} ${shown} ${fence}` : `${fence}${shown}${fence}`
}

function cell(text: string): string {
  // In a table, no code span can contain a backslash before a pipe: both belong to the escape of the pipe.
  if (!text.includes('\\|')) return codeSpan(text).replaceAll('|', '\\|')
  return `<code>${showControls(text).replace(/[!-/:-@[-`{-~]/g, entity)}</code>`
}

function entity(character: string): string {
  return `&#${character.charCodeAt(0)};`
}
