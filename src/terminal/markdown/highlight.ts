import type { TextStyle } from './text-style.ts'

/**
 * Colors code of a language, line by line. Makes a function for one block, which takes its lines in
 * order; nothing where the language is not known.
 */
export type Highlight = (language: string, style: TextStyle) => ((line: string) => string) | undefined

/** Its languages are loaded with it: best before the first line of code is there. */
export async function loadHighlight(): Promise<Highlight> {
  const { LineHighlighter, knows } = await import('./line-highlighter.ts')
  return (language, style) => {
    if (!knows(language)) return undefined
    const highlighter = new LineHighlighter(language, style)
    return (line) => highlighter.read(line)
  }
}
