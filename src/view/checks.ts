import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { stripControls } from '../terminal/strip-controls.ts'
import { countOf } from './format/quantities.ts'
import type { Span } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'

/** The result of a check of `doctor`. */
interface Check {
  check: string
  status: 'ok' | 'warning' | 'failed' | 'skipped'
  message: string
  hint: string | null
}

export interface ChecksStyle {
  /** Columns of the terminal. */
  width: number
  /** Whether the terminal can show non-ASCII characters. */
  unicode: boolean
}

const styles = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const
const statusWidth = Math.max(...Object.keys(styles).map((status) => status.length))

/** Minimum width of a message beside the names. With less, it is below its name. */
const leastBeside = 20

/** A line for each check with its status, name, and message; below it the hint; at the end the number of problems. */
export function describeChecks(checks: readonly Check[], { width, unicode }: ChecksStyle): Span[] {
  const nameWidth = Math.max(0, ...checks.map(({ check }) => stringWidth(check)))
  const beside = statusWidth + 2 + nameWidth + 2
  const isNarrow = width - beside < leastBeside
  const indent = isNarrow ? 2 : beside
  const arrow = unicode ? '→ ' : '> '
  const spans: Span[] = []
  for (const { check, status, message, hint } of checks) {
    spans.push({ text: isNarrow ? status : status.padEnd(statusWidth), style: styles[status] })
    spans.push({ text: isNarrow ? ` ${check}\n${' '.repeat(indent)}` : `  ${check.padEnd(nameWidth)}  ` })
    const words = wrap(message, width - indent, indent)
    spans.push(status === 'skipped' ? { text: words, style: 'dim' } : { text: words })
    if (hint !== null) {
      const margin = indent + arrow.length
      const text = isSentence(hint)
        ? wrap(hint, width - margin, margin)
        : withCommand(hint, width - margin, margin)
      spans.push({ text: `\n${' '.repeat(indent)}${arrow}${text}`, style: 'bold' })
    }
    spans.push({ text: '\n' })
  }
  return [...spans, { text: `\n${wrap(summarizeChecks(checks), width, 0)}\n` }]
}

/** A hint that is not a sentence is a command, or ends with one. */
function isSentence(hint: string): boolean {
  return /[.…]$/.test(hint)
}

/** A command is never wrapped, so that it can be copied. */
function withCommand(hint: string, width: number, indent: number): string {
  const hasWords = /: (chatctl|export|--)/.test(hint)
  return hasWords ? wrapWords(hint, width).replaceAll('\n', `\n${' '.repeat(indent)}`) : hint
}

/** Wraps text with an indent. Long paths are split. */
function wrap(text: string, width: number, indent: number): string {
  const lines = wrapAnsi(stripControls(text), Math.max(1, width), { trim: true, hard: true })
  return lines.replaceAll('\n', `\n${' '.repeat(indent)}`)
}

/** The number of problems. */
export function summarizeChecks(checks: readonly Check[]): string {
  const count = (wanted: Check['status']) => checks.filter(({ status }) => status === wanted).length
  const [failures, warnings] = [count('failed'), count('warning')]
  if (failures + warnings === 0) return 'No problems found.'
  const parts = [
    ...(failures > 0 ? [countOf(failures, 'failure')] : []),
    ...(warnings > 0 ? [countOf(warnings, 'warning')] : []),
  ]
  return `${parts.join(', ')}.`
}

/**
 * Whether a terminal may be shown more than ASCII. POSIX, 8.2: the first of these that is set and not empty. Windows says it nowhere,
 * and is UTF-8 to Node.
 */
export function speaksUnicode(env: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'win32') return true
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return /utf-?8/i.test(locale)
}
