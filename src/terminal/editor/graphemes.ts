import stringWidth from 'string-width'
import { stripControls } from '../strip-controls.ts'

/** A paste that is kept as one unit of the text. */
interface PastedText {
  text: string
  /** What is shown in its place. */
  label: string
}

/** What a cursor steps over: a grapheme (UAX 29), or a whole paste. */
export type TextUnit = string | PastedText

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

export function textOf(unit: TextUnit): string {
  return typeof unit === 'string' ? unit : unit.text
}

export function joinUnits(units: readonly TextUnit[]): string {
  return units.map(textOf).join('')
}

export function splitGraphemes(text: string): string[] {
  // The segmenter takes a microsecond a character, which a pasted log would feel.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text.split('')
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Splits again what may have come together by an edit; pastes stay what they are. */
export function resegment(units: readonly TextUnit[]): TextUnit[] {
  const grouped: TextUnit[] = []
  let run: string[] = []
  const endRun = (): void => {
    for (const grapheme of splitGraphemes(run.join(''))) grouped.push(grapheme)
    run = []
  }
  for (const unit of units) {
    if (typeof unit === 'string') {
      run.push(unit)
      continue
    }
    endRun()
    grouped.push(unit)
  }
  endRun()
  return grouped
}

/**
 * Whether graphemes to the left and to the right of this one are what they are whatever stands on
 * its other side: an edit there needs to look no further than this. Flags, for example, do not:
 * they are told apart by counting from the first.
 */
export function isBoundary(unit: TextUnit): boolean {
  return typeof unit !== 'string' || /^[\n\x20-\x7e\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]$/.test(unit)
}

/** Text as the editor holds it: whole characters, \n as the line end, of the other controls only \t. */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(unwanted, '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unwanted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu

const shownWidths = new Map<string, number>()
const rememberedWidths = 5_000

/** Columns that a grapheme takes when it is shown; a tab counts as 4. */
export function widthOf(grapheme: string): number {
  if (grapheme.length === 1 && grapheme >= ' ' && grapheme <= '~') return 1
  const known = shownWidths.get(grapheme)
  if (known !== undefined) return known
  const width = stringWidth(showGrapheme(grapheme))
  if (shownWidths.size >= rememberedWidths) shownWidths.clear()
  shownWidths.set(grapheme, width)
  return width
}

/** A grapheme as the terminal may have it: a tab as 4 spaces, and no character that moves anything. */
export function showGrapheme(grapheme: string): string {
  if (grapheme === '\t') return '    '
  return stripControls(grapheme).replace(/[\n\u2028\u2029]/g, ' ')
}

/** As much of one line as fits into so many cells, with `…` where something is missing; and the cells it takes. */
export function truncateToWidth(text: string, columns: number): { text: string; width: number } {
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
