import stringWidth from 'string-width'
import { splitGraphemes } from '../editor/graphemes.ts'

/** As much of one line as fits into so many cells, with `…` where something is missing. */
export function cutToWidth(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text
  let cut = ''
  let width = 0
  for (const grapheme of splitGraphemes(text)) {
    width += stringWidth(grapheme)
    if (width > columns - 1) break
    cut += grapheme
  }
  return `${cut}…`
}
