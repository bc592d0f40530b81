import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** As much of one line as fits into so many cells, with `…` where something is missing. */
export function cutToWidth(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text
  let cut = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += stringWidth(segment)
    if (width > columns - 1) break
    cut += segment
  }
  return `${cut}…`
}
