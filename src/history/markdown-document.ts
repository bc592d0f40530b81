import { withoutTrailing } from '../contract/notation/text.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { timeOf } from '../contract/resources/history-order.ts'

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

interface MessageText {
  role: string
  /** `2026-01-02 03:04:05 UTC`; unchanged if it is not a valid time; undefined if it is missing. */
  time: string | undefined
  /** ISO 8601. */
  isoTime: string | undefined
  content: string
}

/** The fields of a message as text, even if they have unexpected types. */
export function textOf(message: HistoryMessage): MessageText {
  const { role, created_at, content } = message
  const ms = timeOf(message)
  const iso = Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined
  return {
    role: typeof role === 'string' && role.trim() !== '' ? role : 'unknown',
    time: iso ? `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC` : anyText(created_at),
    isoTime: iso,
    content: anyText(content) ?? '',
  }
}

function anyText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
