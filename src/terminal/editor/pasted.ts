/** A paste of more lines, or of more characters, is shown as a label. */
const mostLines = 10
const mostCharacters = 10_000

/**
 * What to show in the place of a long paste; undefined where it is short enough to be shown.
 *
 * @param text with \n as the line end
 */
export function describePaste(text: string): string | undefined {
  const ends = text.split('\n').length - 1
  const lines = text.endsWith('\n') ? ends : ends + 1
  if (lines > mostLines) return `[pasted ${lines} lines]`
  return text.length > mostCharacters ? `[pasted ${text.length} characters]` : undefined
}
