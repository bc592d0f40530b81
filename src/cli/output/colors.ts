import type { ChalkInstance } from 'chalk'
import { plainStyle, type TextStyle } from '../../terminal/markdown/text-style.ts'

/** The few styles in use; without color each returns its text. */
export type Colors = Pick<TextStyle, 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'>

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
  if (!wanted) return plainStyle
  const { Chalk } = await import('chalk')
  const chalk: ChalkInstance = new Chalk({ level: 1 })
  return chalk
}

/**
 * An address that can be clicked (OSC 8) even where it takes several lines; the address alone where
 * the terminal does not know links.
 * @param url as the URL parser writes it: it has no character that a terminal could act on
 */
export async function linkTo(url: string, stream: NodeJS.WriteStream, plain: boolean): Promise<string> {
  if (plain || !stream.isTTY) return url
  const link = await linkerFor(stream)
  return link?.(url, url) ?? url
}

/** How a text becomes a link where the terminal knows links; undefined where it does not. */
export async function linkerFor(
  stream: NodeJS.WriteStream,
): Promise<((text: string, url: string) => string) | undefined> {
  const { createSupportsHyperlinks } = await import('supports-hyperlinks')
  if (!createSupportsHyperlinks(stream)) return undefined
  return (text, url) => `\u001b]8;;${url}\u0007${text}\u001b]8;;\u0007`
}
