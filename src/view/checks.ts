import { stripControls } from '../terminal/strip-controls.ts'
import { countOf } from './format/quantities.ts'
import { listView, type Span } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'

/** What a check of `doctor` has found. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'failed' | 'skipped'
  message: string
  /** What to do about it. */
  hint: string | null
}

export const checksView = listView('check status message hint')

const styles = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const
const statusWidth = Math.max(...Object.keys(styles).map((status) => status.length))

/**
 * A line for each check with its status, name, and message; below it the hint; at the end the number of problems.
 * @param unicode whether the terminal can show non-ASCII characters
 */
export function describeChecks(
  checks: readonly Finding[],
  { width, unicode }: { width: number; unicode: boolean },
): Span[] {
  const nameWidth = Math.max(0, ...checks.map(({ check }) => check.length))
  const indent = statusWidth + 2 + nameWidth + 2
  const arrow = unicode ? '→ ' : '> '
  const wrap = (text: string, margin: number) =>
    wrapWords(stripControls(text), width - margin).replaceAll('\n', `\n${' '.repeat(margin)}`)
  const spans: Span[] = []
  for (const { check, status, message, hint } of checks) {
    const words = wrap(message, indent)
    spans.push({ text: status.padEnd(statusWidth), style: styles[status] })
    spans.push({ text: `  ${check.padEnd(nameWidth)}  ` })
    spans.push(status === 'skipped' ? { text: words, style: 'dim' } : { text: words })
    if (hint !== null) {
      // A command is never wrapped, so that it can be copied.
      const text = /^(chatctl|npm) /.test(hint) ? stripControls(hint) : wrap(hint, indent + arrow.length)
      spans.push({ text: `\n${' '.repeat(indent)}${arrow}${text}`, style: 'bold' })
    }
    spans.push({ text: '\n' })
  }
  return [...spans, { text: `\n${wrapWords(summarizeChecks(checks), width)}\n` }]
}

/** The number of problems. */
export function summarizeChecks(checks: readonly Finding[]): string {
  const count = (wanted: Finding['status']) => checks.filter(({ status }) => status === wanted).length
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
