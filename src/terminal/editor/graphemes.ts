import stringWidth from 'string-width'
import { stripControls } from '../strip-controls.ts'
import { plainText } from './pasted-text.ts'

/** A long paste, which is one unit of the text. */
interface PastedText {
  text: string
  /** Shown instead of the text. */
  label: string
}

/** One step of the cursor: a grapheme (UAX 29), or a whole paste. */
export type TextUnit = string | PastedText

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

export function textOf(unit: TextUnit): string {
  return typeof unit === 'string' ? unit : unit.text
}

export function joinUnits(units: readonly TextUnit[]): string {
  return units.map(textOf).join('')
}

export function splitGraphemes(text: string): string[] {
  // The segmenter takes about 1 µs per character, which is slow for a large paste.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text.split('')
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Splits text into graphemes again after an edit. Pastes stay whole. */
export function splitUnits(units: readonly TextUnit[]): TextUnit[] {
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
 * Whether an edit on one side of this unit cannot change graphemes on the other side. Not true of flags,
 * for example, because their pairs are counted from the first.
 */
export function isBoundary(unit: TextUnit): boolean {
  return typeof unit !== 'string' || /^[\n\x20-\x7e\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]$/.test(unit)
}

/** Text as the editor stores it: no lone surrogates, \n as line end, and no other controls except \t. */
export function cleanText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(unwanted, '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unwanted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu

const shownWidths = new Map<string, number>()
const maxCachedWidths = 5_000

/** Width of a grapheme in columns. A tab takes 4. */
export function widthOf(grapheme: string): number {
  if (grapheme.length === 1 && grapheme >= ' ' && grapheme <= '~') return 1
  const known = shownWidths.get(grapheme)
  if (known !== undefined) return known
  const width = stringWidth(showGrapheme(grapheme))
  if (shownWidths.size >= maxCachedWidths) shownWidths.clear()
  shownWidths.set(grapheme, width)
  return width
}

/** A grapheme without control characters and marks. A tab becomes 4 spaces. */
export function showGrapheme(grapheme: string): string {
  if (grapheme === '\t') return '    '
  return plainText(stripControls(grapheme)).replace(/[\n\u2028\u2029]/g, ' ')
}

/** Truncates a line to a number of columns, with `…` at the end. Returns its width, too. */
export function truncateToWidth(text: string, columns: number): { text: string; width: number } {
  let [shown, width] = ['', 0]
  const graphemes = splitGraphemes(text)
  const whole = graphemes.reduce((sum, grapheme) => sum + widthOf(grapheme), 0)
  const limit = whole > columns ? columns - 1 : columns
  for (const grapheme of graphemes) {
    if (width + widthOf(grapheme) > limit) break
    shown += showGrapheme(grapheme)
    width += widthOf(grapheme)
  }
  return whole > columns ? { text: `${shown}…`, width: width + 1 } : { text: shown, width }
}

/** Words consist of letters and digits, as for Alt+B in a shell. A paste label is one word. */

type Kind = 'word' | 'space' | 'sign' | 'paste'

function kindOf(unit: TextUnit | undefined): Kind {
  if (typeof unit === 'object') return 'paste'
  if (unit === undefined || /^\s/.test(unit)) return 'space'
  return /^[\p{Letter}\p{Number}\p{Mark}_]/u.test(unit) ? 'word' : 'sign'
}

/** Index at which the line that contains an index begins. */
export function lineStart(units: readonly TextUnit[], index: number): number {
  return index === 0 ? 0 : units.lastIndexOf('\n', index - 1) + 1
}

/** Index of the line end after an index, or of the end of the text. */
export function lineEnd(units: readonly TextUnit[], index: number): number {
  const end = units.indexOf('\n', index)
  return end < 0 ? units.length : end
}

/** Index at which the word before an index begins. */
export function wordStart(units: readonly TextUnit[], index: number): number {
  return skipBack(units, index, (kind) => kind === 'word')
}

/** Index after the last space before an index. */
export function wordStartBySpace(units: readonly TextUnit[], index: number): number {
  return skipBack(units, index, (kind) => kind === 'word' || kind === 'sign')
}

/** Index after the word that an index is in or before. */
export function wordEnd(units: readonly TextUnit[], index: number): number {
  let end = index
  while (end < units.length && /space|sign/.test(kindOf(units[end]))) end++
  if (kindOf(units[end]) === 'paste') return end + 1
  while (end < units.length && kindOf(units[end]) === 'word') end++
  return end
}

function skipBack(units: readonly TextUnit[], index: number, belongs: (kind: Kind) => boolean): number {
  let start = index
  while (start > 0 && kindOf(units[start - 1]) !== 'paste' && !belongs(kindOf(units[start - 1]))) start--
  if (kindOf(units[start - 1]) === 'paste') return start - 1
  while (start > 0 && belongs(kindOf(units[start - 1]))) start--
  return start
}
