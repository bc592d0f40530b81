import { wantsColor } from '../../cli/output/colors.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, skipped, warning } from './finding.ts'

/** Columns below which tables are broken into many lines. */
const narrow = 60

/** What the terminal on stdout can show. */
export function examineTerminal({ env, context }: DoctorContext): Examined[] {
  const { stdout } = context.host
  if (!context.streams.isShown) return [skipped('terminal', 'stdout is not a terminal')]
  const term = env['TERM'] ?? 'unknown'
  const color = wantsColor(stdout, env, context.output.isColorless) ? 'in color' : 'without color'
  const words = `${term}, ${stdout.columns} columns, ${color}`
  if (!speaksUnicode(env)) {
    const hint = 'export LC_ALL=C.UTF-8'
    return [
      warning(
        'terminal',
        `${words}; its locale is not UTF-8, so non-ASCII letters may be garbled`,
        `Set a locale with: ${hint}`,
      ),
    ]
  }
  if (stdout.columns < narrow)
    return [ok('terminal', `${words}; too narrow for wide tables: prefer -o jsonl`)]
  return [ok('terminal', words)]
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
