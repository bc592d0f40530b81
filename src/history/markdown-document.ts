import { withoutTrailing } from '../contract/notation/without-trailing.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { textOf } from './message-text.ts'

/**
 * A heading for each message, with its content in a block quote below. No heading, open fence, HTML, or list in
 * the content can extend beyond the block quote (CommonMark 0.31 section 5.1), and the content is unchanged.
 */
export const markdownDocument = {
  head: (title: string): string => `# ${escapeInline(title)}\n`,
  message: (message: HistoryMessage): string => {
    const { role, time, content } = textOf(message)
    const heading = time === undefined ? escapeInline(role) : `${escapeInline(role)} · ${escapeInline(time)}`
    return `\n## ${heading}\n\n${quote(content)}`
  },
  tail: (): string => '',
}

/** CommonMark section 2.1 has three line endings. */
function quote(text: string): string {
  const lines = withoutTrailing(text, '\r\n').split(/\r\n|\n|\r/)
  return lines.map((line) => (line === '' ? '>\n' : `> ${line}\n`)).join('')
}

/** Escapes text as one line of plain text. */
function escapeInline(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>#|~&!]/g, '\\$&')
}
