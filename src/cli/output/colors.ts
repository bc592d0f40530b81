import type { ChalkInstance } from 'chalk'
import { plainStyle, type TextStyle } from '../../terminal/markdown/text-style.ts'

/** The few styles in use; without color each returns its text. */
export type Colors = Pick<TextStyle, 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'>

const same = (text: string): string => text
const plain: Colors = {
  bold: same,
  dim: same,
  red: same,
  green: same,
  yellow: same,
  cyan: same,
}

/** FORCE_COLOR and NO_COLOR as https://force-color.org and https://no-color.org have them. */
export function wantsColor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv, noColor: boolean): boolean {
  if (noColor || env['NO_COLOR']) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

/** The styles of a session. Without color, the others remain: NO_COLOR is only about color. */
export async function loadSessionStyle(hasColor: boolean) {
  const { Chalk } = await import('chalk')
  const chalk: ChalkInstance = new Chalk({ level: 1 })
  const { bold, italic, dim, underline, strikethrough: strike, inverse: reverse } = chalk
  const { red, green, yellow, blue, magenta, cyan } = hasColor ? chalk : plainStyle
  return { bold, italic, dim, underline, strike, reverse, red, green, yellow, blue, magenta, cyan }
}

/** chalk is loaded only where color will be seen. */
export async function loadColors(wanted: boolean): Promise<Colors> {
  if (!wanted) return plain
  const { Chalk } = await import('chalk')
  const chalk: ChalkInstance = new Chalk({ level: 1 })
  return chalk
}
