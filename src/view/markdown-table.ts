import { showControls } from '../terminal/strip-controls.ts'

/**
 * A table of GitHub Flavored Markdown. Each value is code, in which nothing is a link, a mention of a person, a
 * reference to an issue, or HTML.
 */
export function markdownTable(headings: readonly string[], rows: Iterable<readonly string[]>): string {
  const titles = headings.map((text) => (/^[a-z0-9]+( [a-z0-9]+)*$/i.test(text) ? text : codeCell(text)))
  const lines = [titles, headings.map(() => '---'), ...Array.from(rows, (row) => row.map(codeCell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** A text as code on one line. */
function codeCell(text: string): string {
  const shown = showControls(text)
  if (shown === '') return ''
  // In a table, no code span can contain a backslash before a pipe: both belong to the escape of the pipe.
  if (/\\\|/.test(shown)) return `<code>${shown.replace(/[!-/:-@[-`{-~]/g, entity)}</code>`
  const runs = shown.match(/`+/g) ?? []
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1)
  // A reader removes one space at both ends of a span, unless it contains only spaces.
  const isPadded = /^`|`$/.test(shown) || (/^ .* $/.test(shown) && shown.trim() !== '')
  const inner = isPadded ? ` ${shown} ` : shown
  return `${fence}${inner.replaceAll('|', '\\|')}${fence}`
}

function entity(character: string): string {
  return `&#${character.charCodeAt(0)};`
}
