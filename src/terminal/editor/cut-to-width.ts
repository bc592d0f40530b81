import { showGrapheme, splitGraphemes, widthOf } from './graphemes.ts'

/** As much of one line as fits into so many cells, with `…` where something is missing; and the cells it takes. */
export function cutToWidth(text: string, columns: number): { text: string; width: number } {
  let [shown, width] = ['', 0]
  const graphemes = splitGraphemes(text)
  const whole = graphemes.reduce((sum, grapheme) => sum + widthOf(grapheme), 0)
  const most = whole > columns ? columns - 1 : columns
  for (const grapheme of graphemes) {
    if (width + widthOf(grapheme) > most) break
    shown += showGrapheme(grapheme)
    width += widthOf(grapheme)
  }
  return whole > columns ? { text: `${shown}…`, width: width + 1 } : { text: shown, width }
}
