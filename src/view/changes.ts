import { showControls, visibleJson } from '../terminal/strip-controls.ts'
import type { Span } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'

/** A value that changes, as text. */
export interface ShownChange {
  path: string
  before: string
  /** Whether the value before is known. */
  isKnown: boolean
  after: string
  /** After the values, such as ` (drifted)`. */
  mark: string
}

export const driftedMark = ' (drifted)'
export const driftedNote = 'Drifted: someone else has changed a value since chatctl sent it.'

/** The value as JSON, so that `"on"` differs from `true`, and `""` from no value. */
export function valueText(value: unknown): string {
  return value === null || value === undefined ? 'none' : visibleJson(value)
}

/**
 * A line for each change, or both values below each path if a line would be too wide. No line is wider than the
 * terminal, unless a word is.
 * @param indent columns before each path
 */
export function changeLines(changes: readonly ShownChange[], width: number, indent: number): Span[] {
  const beside = linesBeside(changes, ' '.repeat(indent))
  const text = beside.map((span) => span.text).join('')
  const isTooWide = text.split('\n').some((line) => line.length > width)
  return isTooWide ? changes.flatMap((change) => linesBelow(change, width, indent)) : beside
}

function linesBeside(changes: readonly ShownChange[], indent: string): Span[] {
  const width = Math.max(...changes.map(({ path }) => showControls(path).length))
  const before = Math.max(...changes.map((change) => change.before.length).filter((one) => one <= 24), 0)
  return changes.flatMap((change) => [
    { text: `${indent}${showControls(change.path).padEnd(width)}  ` },
    { text: change.before, style: styleOf(change) },
    { text: `${' '.repeat(Math.max(0, before - change.before.length))} → ` },
    { text: change.after, style: 'green' },
    { text: `${change.mark}\n` },
  ])
}

function linesBelow(change: ShownChange, width: number, indent: number): Span[] {
  const inner = ' '.repeat(indent + 2)
  const value = (words: string) => `${wrapWords(inner + words, width, indent + 6)}\n`
  return [
    { text: `${' '.repeat(indent)}${showControls(change.path)}${change.mark}\n` },
    { text: value(`old ${change.before}`), style: styleOf(change) },
    { text: value(`new ${change.after}`), style: 'green' },
  ]
}

function styleOf({ isKnown }: ShownChange): 'red' | 'dim' {
  return isKnown ? 'red' : 'dim'
}
