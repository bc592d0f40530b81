import type { TextUnit } from './graphemes.ts'

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
