import { valueAt } from '../contract/notation/tree.ts'
import { readWholeReply } from '../contract/reply/assembly.ts'
import type { StreamEvent } from '../contract/resources/stream-event.ts'
import { listAt, listView, pairsView, recordsView, textOf, type View } from './format/view.ts'

/**
 * The JSON of an event, version 1, without the failure. Events from the service and from a transcript
 * have the same JSON.
 */
export function describeStreamEvent(event: StreamEvent): Record<string, unknown> {
  const version = { v: 1, type: event.type }
  switch (event.type) {
    case 'start':
      return { ...version, context_id: event.contextId, id: event.id, model: event.model }
    case 'reasoning':
    case 'delta':
      return { ...version, text: event.text }
    case 'usage':
      return { ...version, usage: event.usage }
    case 'end':
      return {
        ...version,
        end: event.end,
        tools: event.tools,
        complete: event.complete,
        verified: event.verified,
        finish_reason: event.finishReason,
        id: event.id,
        context_id: event.contextId,
        response: event.text,
        reason: event.reason,
      }
  }
}

export const modelsView = recordsView('id:whole owned_by created:time object:hidden', {
  json: 'listModels',
  emptyText: 'No models.',
  rows: listAt('data'),
})

/** Used by `chat send` and `chat show`. */
export const sendView = recordsView(
  `
  id:whole context_id created_at:time response finish_reason:hidden end:hidden model:hidden usage:hidden:open
  tools:hidden:strings
`,
  {
    json: 'sendMessage',
    text: (body) => readWholeReply(body).text,
  },
)

/** The result of a batch: numbers of rows by status. */
export const batchView = pairsView(`
  rows:integer done:integer already_done:integer not_whole:integer failed:integer unknown:integer
  skipped:integer remaining:integer requests:integer results failed_rows
`)

/** One event of a streamed reply, a line of JSON. */
export const streamEventView = recordsView(`
  v:integer type context_id id:whole model text usage:open end tools:strings complete:boolean verified:boolean
  finish_reason response reason
`)

/** Used by `chat complete` and `chat send`. */
export const completionView: View = {
  ...recordsView(`
    id:whole model created:time choices.0.finish_reason choices.0.message.content object:hidden
    usage:hidden:open choices:hidden:open
  `),
  json: 'createCompletion',
  text: (body) => readWholeReply(body).text,
}

/** A session as a document. */
export const transcriptView = pairsView(`
  v:integer id at updated_at profile base_url name mode context_id model system temperature:number
  max_tokens:integer turns[].turn:integer turns[].at turns[].user turns[].reasoning turns[].answer
  turns[].status turns[].context_id turns[].id turns[].model turns[].usage:object turns[].finish_reason
  turns[].end turns[].tools:strings turns[].reason turns[].first_ms:number turns[].total_ms:number
`)

/** A session of this machine. Used by `chat delete`, `chat rename`, and `chat sessions`. */
export const chatSessionsView = listView(`
  id:whole updated_at:time turns:secondary:integer stored model:secondary context_id:secondary name
  first_message:secondary profile:secondary mode:hidden base_url:hidden at:hidden
`)

export const promptsView = listView('name:whole description model variables:hidden:strings path:hidden')

export const promptFileView = pairsView(
  'name path model temperature:number max_tokens:integer variables:strings text',
  { text: (body) => textOf(valueAt(body, 'text')) },
)

export const promptSetView = recordsView('name replaced:boolean path', {
  isForTerminal: true,
  text: (body) =>
    `${valueAt(body, 'replaced') === true ? 'Replaced' : 'Created'} prompt "${textOf(valueAt(body, 'name'))}".`,
})

export const promptsDeletedView = listView('name path:secondary')
