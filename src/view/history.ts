import { isRecord } from '../contract/notation/exact-json.ts'
import { valueAt } from '../contract/notation/tree.ts'
import type { HistoryMessage } from '../contract/resources/conversation.ts'
import { oldestFirst } from '../contract/resources/history-order.ts'
import { countOf, localTime } from './format/quantities.ts'
import { listAt, listView, recordsView, rowsOf, type Span, textOf, type View } from './format/view.ts'
import { wrapWords } from './format/wrap-words.ts'

/** In a table, oldest first, whatever the order of the page. Used by `history export` and `history list`. */
export const historyView = recordsView('id:whole:secondary created_at:time role content', {
  json: 'listHistory',
  emptyText: 'No messages.',
  rows: (body) => oldestFirst(listAt('messages')(body) as readonly HistoryMessage[]),
})

/** The messages that a search found, the newest first. */
export const foundMessagesView = listView(`
  time:time role context_id session_id:whole message_id source snippet
`)

type FindMatches = (snippet: string) => readonly { start: number; end: number }[]

/**
 * The same with highlighted matches, for a terminal.
 * @param isColored whether matches are bold; otherwise they are between asterisks
 */
export function highlightedView(find: FindMatches, isColored: boolean): View {
  return {
    ...foundMessagesView,
    isForTerminal: true,
    text: (body, width = Infinity) =>
      rowsOf(foundMessagesView, body)
        .filter(isRecord)
        .flatMap((row, index) => spansOf(row, { width, find, isColored, isFirst: index === 0 })),
  }
}

interface Style {
  width: number
  find: FindMatches
  isColored: boolean
  isFirst: boolean
}

const indent = 2

function spansOf(row: Record<string, unknown>, { width, find, isColored, isFirst }: Style): Span[] {
  const { time, role, session_id: session, context_id: context, snippet } = row
  const place = textOf(session) || textOf(context)
  const heading = [localTime(time) ?? textOf(time), textOf(role), place].filter((part) => part !== '')
  const text = wrapWords(textOf(snippet), width - indent)
  const spans: Span[] = [{ text: `${isFirst ? '' : '\n'}${heading.join('  ')}\n`, style: 'dim' }]
  let at = 0
  for (const { start, end } of find(text)) {
    if (start < at) continue
    spans.push({ text: text.slice(at, start) })
    spans.push(
      isColored ? { text: text.slice(start, end), style: 'bold' } : { text: `*${text.slice(start, end)}*` },
    )
    at = end
  }
  spans.push({ text: `${text.slice(at)}\n` })
  const margin = ' '.repeat(indent)
  return spans.map((span, index) =>
    index === 0
      ? span
      : { ...span, text: `${index === 1 ? margin : ''}${span.text.replaceAll(/\n(?!$)/g, `\n${margin}`)}` },
  )
}

/** The mirror after a sync. */
export const syncedHistoryView = recordsView(
  'messages:integer added:integer removed:integer as_of:time profile base_url user_id file:whole',
  {
    isForTerminal: true,
    text: (body, width = Infinity) => {
      const count = (path: string) => Number(valueAt(body, path) ?? 0)
      const removed = count('removed') === 0 ? '' : `, ${countOf(count('removed'), 'message')} removed`
      const added = `${countOf(count('added'), 'new message')}${removed}`
      const asOf = localTime(valueAt(body, 'as_of')) ?? ''
      const mirrored = `The mirror has ${countOf(count('messages'), 'message')}, as of ${asOf}.`
      return wrapWords(`${added}. ${mirrored}`, width)
    },
  },
)

/** The warning about an ambiguous order. */
export const ambiguousTimes =
  'More messages have the same time than fit on one page of the service, so some of them may be missing.'
