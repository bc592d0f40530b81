import type { TextStyle } from './text-style.ts'

/**
 * Creates a function that colors the lines of one code block, in order. Undefined for an unknown
 * language.
 */
export type Highlight = (language: string, style: TextStyle) => ((line: string) => string) | undefined

/** Loads the highlighter and its languages. Takes time, so call it before the first line of code. */
export async function loadHighlight(): Promise<Highlight> {
  const { LineHighlighter, knows } = await import('./line-highlighter.ts')
  return (language, style) => {
    if (!knows(language)) return undefined
    const highlighter = new LineHighlighter(language, style)
    return (line) => highlighter.read(line)
  }
}
