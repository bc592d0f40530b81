import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { stripControls } from '../terminal/strip-controls.ts'
import { countOf } from './count.ts'
import type { Span } from './view.ts'

/** What a check has found, as `doctor` prints it. */
interface Check {
  check: string
  status: 'ok' | 'warning' | 'failed' | 'skipped'
  message: string
  hint: string | null
}

export interface ChecksStyle {
  /** Columns of the terminal. */
  width: number
  /** Whether it can show more than ASCII. */
  unicode: boolean
}

const marks = {
  ok: { unicode: '✓', ascii: 'ok', style: 'green' },
  warning: { unicode: '!', ascii: '!', style: 'yellow' },
  failed: { unicode: '✗', ascii: 'x', style: 'red' },
  skipped: { unicode: '-', ascii: '-', style: 'dim' },
} as const

/** Columns that what was found has to have beside the names; with fewer it stands below them. */
const leastBeside = 20

/** A line for each check: a mark, its name, what was found; below that what to do; at the end how many are wrong. */
export function describeChecks(checks: readonly Check[], { width, unicode }: ChecksStyle): Span[] {
  const form = unicode ? 'unicode' : 'ascii'
  const markWidth = Math.max(...Object.values(marks).map((mark) => mark[form].length))
  const nameWidth = Math.max(0, ...checks.map(({ check }) => stringWidth(check)))
  const beside = markWidth + 1 + nameWidth + 2
  const isNarrow = width - beside < leastBeside
  const indent = isNarrow ? markWidth + 1 : beside
  const arrow = unicode ? '→ ' : '> '
  const spans: Span[] = []
  for (const { check, status, message, hint } of checks) {
    const mark = marks[status]
    spans.push({ text: mark[form].padEnd(markWidth), style: mark.style })
    spans.push({ text: isNarrow ? ` ${check}\n${' '.repeat(indent)}` : ` ${check.padEnd(nameWidth)}  ` })
    const words = wrap(message, width - indent, indent)
    spans.push(status === 'skipped' ? { text: words, style: 'dim' } : { text: words })
    if (hint !== null) {
      const below = `\n${' '.repeat(indent)}${arrow}`
      spans.push({
        text:
          below +
          (isSentence(hint) ? wrap(hint, width - indent - arrow.length, indent + arrow.length) : hint),
        style: 'bold',
      })
    }
    spans.push({ text: '\n' })
  }
  return [...spans, { text: `\n${wrap(summarize(checks), width, 0)}\n` }]
}

/** Any other hint is a command to be copied, so that only the terminal breaks it. */
function isSentence(hint: string): boolean {
  return /[.…]$/.test(hint)
}

/** What is broken over lines is aligned, a long path too. */
function wrap(text: string, width: number, indent: number): string {
  const lines = wrapAnsi(stripControls(text), Math.max(1, width), { trim: true, hard: true })
  return lines.replaceAll('\n', `\n${' '.repeat(indent)}`)
}

function summarize(checks: readonly Check[]): string {
  const count = (wanted: Check['status']) => checks.filter(({ status }) => status === wanted).length
  const [failures, warnings] = [count('failed'), count('warning')]
  if (failures + warnings === 0) return 'No problems found.'
  const parts = [
    ...(failures > 0 ? [countOf(failures, 'failure')] : []),
    ...(warnings > 0 ? [countOf(warnings, 'warning')] : []),
  ]
  return `${parts.join(', ')}.`
}
