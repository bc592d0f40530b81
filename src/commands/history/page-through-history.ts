import type { Context } from '../../cli/context/context.ts'
import type { Client } from '../../client/client.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { Failure } from '../../contract/failure.ts'
import type { HistoryMessage, HistoryQuery } from '../../contract/resources/conversation.ts'
import { documentView, type View } from '../../view/format/view.ts'
import { ambiguousTimes, historyView } from '../../view/history.ts'

/** As `history export` requests it: the maximum of most services. */
const pageSize = 100

const { method: pagedMethod, path: pagedPath } = endpoints.listHistory

/**
 * The query of the one endpoint that has pages.
 * @throws Failure `usage` for another endpoint, or a parameter that it does not have
 */
export function readPagedQuery({ method, path }: { method: string; path: string }): HistoryQuery {
  const [name = '', search = ''] = path.split(/\?(.*)/s)
  if (method.toUpperCase() !== pagedMethod || name !== pagedPath) {
    throw new Failure('usage', `The only documented endpoint with pages is ${pagedMethod} ${pagedPath}`, {
      hint: 'Omit --paginate.',
    })
  }
  const query: Record<string, string | number> = { limit: pageSize }
  for (const [key, value] of new URLSearchParams(search)) {
    if (key === 'limit' && /^[1-9]\d*$/.test(value)) query[key] = Number(value)
    else if (key === 'context_id' || key === 'before') query[key] = value
    else {
      throw new Failure('usage', `The query parameter ${key}=${value} cannot be used with --paginate`, {
        hint: 'Use context_id, limit, and before, or omit --paginate.',
      })
    }
  }
  return query
}

/** Documented columns; JSON has the whole messages. */
const messagesView: View = {
  layout: 'records',
  columns: historyView.columns,
  text: (body) => documentView.text?.(body) ?? '',
}

/** Prints the messages page by page, in the order of the service. */
export async function pageThroughHistory(
  { history }: Pick<Client, 'history'>,
  query: HistoryQuery,
  { output }: Context,
): Promise<void> {
  const writer = output.rowWriter(messagesView)
  const all: HistoryMessage[] = []
  let isUnsure = false
  for await (const { messages, response, unsure } of history.pages(query)) {
    isUnsure ||= unsure
    const fresh = new Set(messages)
    const page = (response.body?.messages ?? []).filter((message) => fresh.has(message))
    if (writer) await writer.write(page)
    else all.push(...page)
  }
  if (writer) await writer.end()
  else await output.show(messagesView, all)
  if (isUnsure) await output.warn(ambiguousTimes)
}
