import type { HistoryMessage } from '../contract/conversation.ts'
import { textOf, titleOf } from './message-text.ts'

/**
 * A heading for each message, and below it what was said as a block quote: no heading, open fence,
 * HTML or list in it can reach beyond its quote (CommonMark 0.31 section 5.1), and it is still
 * there as it was written.
 */
export const markdownDocument = {
  head: (context: string | undefined): string => `# ${escapeInline(titleOf(context))}\n`,
  message: (message: HistoryMessage): string => {
    const { role, time, content } = textOf(message)
    const heading = time === undefined ? escapeInline(role) : `${escapeInline(role)} · ${escapeInline(time)}`
    return `\n## ${heading}\n\n${quote(content)}`
  },
  tail: (): string => '',
}

/** CommonMark section 2.1 has three line endings. */
function quote(text: string): string {
  const lines = text.replace(/[\r\n]+$/, '').split(/\r\n|\n|\r/)
  return lines.map((line) => (line === '' ? '>\n' : `> ${line}\n`)).join('')
}

/** One line without any mark-up of its own. */
function escapeInline(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>#|~&!]/g, '\\$&')
}
