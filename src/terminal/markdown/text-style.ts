/** Functions that style text. Without color, each returns its argument. */
export interface TextStyle {
  bold(text: string): string
  italic(text: string): string
  dim(text: string): string
  underline(text: string): string
  strike(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  blue(text: string): string
  magenta(text: string): string
  cyan(text: string): string
}

export type Mark = keyof TextStyle

const same = (text: string): string => text

export const plainStyle: TextStyle = {
  bold: same,
  italic: same,
  dim: same,
  underline: same,
  strike: same,
  red: same,
  green: same,
  yellow: same,
  blue: same,
  magenta: same,
  cyan: same,
}

/** A piece of text in one style. A newline in it breaks the line. */
export interface StyledText {
  text: string
  marks: readonly Mark[]
  /** Target of a link. */
  url?: string
}

/** The styles and links that the terminal supports. */
export interface Formatting {
  style: TextStyle
  /** Makes text clickable without changing its width (OSC 8). If undefined, the address is written after the text. */
  link?: (text: string, url: string) => string
}

export const unmarked: readonly Mark[] = []

/** @param text without newlines */
export function paint(
  text: string,
  { marks, url }: Omit<StyledText, 'text'>,
  { style, link }: Formatting,
): string {
  let painted = text
  for (const mark of marks) painted = style[mark](painted)
  return url === undefined || link === undefined ? painted : link(painted, url)
}
