import type { MarkdownOptions } from '../../src/terminal/markdown/blocks.ts'
import { MarkdownWriter } from '../../src/terminal/markdown/markdown-writer.ts'

export function renderMarkdown(text: string, options: MarkdownOptions): string {
  const writer = new MarkdownWriter(options)
  return writer.push(text) + writer.end()
}
