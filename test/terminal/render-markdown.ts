import type { MarkdownOptions } from '../../src/terminal/markdown/blocks.ts'
import { MarkdownWriter } from '../../src/terminal/markdown/markdown-writer.ts'

/** A whole text as {@link MarkdownWriter} shows it while it comes. */
export function renderMarkdown(text: string, options: MarkdownOptions): string {
  const writer = new MarkdownWriter(options)
  return writer.push(text) + writer.end()
}
