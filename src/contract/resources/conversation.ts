import * as z from 'zod/mini'
import { type ResponseFormat, responseFormat } from './completion.ts'
import { type Maybe, type Received, request, response } from './shapes.ts'

/** docs/interface.md, "Send-message request and response". */
export interface SendRequest {
  /** The text to send. */
  message?: string | undefined
  /** The conversation to continue (default: a new one). */
  context_id?: string | undefined
  /** Id of a model, as `models` lists it. */
  model?: string | undefined
  /** Set by `Chat` itself. */
  stream?: boolean | undefined
  response_format?: ResponseFormat | undefined
}

/** @internal */
export const sendRequest = request<SendRequest>(() => ({
  message: z.string(),
  context_id: z.string(),
  model: z.string(),
  stream: z.boolean(),
  response_format: responseFormat(),
}))

/** A reply (docs/interface.md, "Send-message request and response"). */
export interface SendResponse extends Received {
  id?: Maybe<string>
  /** The text of the reply. */
  response?: Maybe<string>
  /** The conversation, for the next request. */
  context_id?: Maybe<string>
  /** Timestamp, as the service wrote it. */
  created_at?: Maybe<string>
}

/** @internal */
export const sendResponse = response<SendResponse>(() => ({
  id: z.string(),
  response: z.string(),
  context_id: z.string(),
  created_at: z.string(),
}))

/** Which messages to read (docs/interface.md, "Chat history"). */
export interface HistoryQuery {
  /** One conversation (default: all). */
  context_id?: string | undefined
  /** Maximum number of messages on a page. */
  limit?: number | undefined
  /** A cursor: returns older messages. The interface does not document its syntax. */
  before?: string | undefined
}

/** @internal */
export const historyQuery = request<HistoryQuery>(() => ({
  context_id: z.string(),
  limit: z.number(),
  before: z.string(),
}))

/** One message of a conversation (docs/interface.md, "Chat history"). */
export interface HistoryMessage extends Received {
  id?: Maybe<string>
  content?: Maybe<string>
  /** Usually `user` or `assistant`. */
  role?: Maybe<string>
  /** Timestamp, as the service wrote it. */
  created_at?: Maybe<string>
  /** Only messages of the embedded service and of transcripts have these. See `ReplyEnd`. */
  context_id?: Maybe<string>
  end?: Maybe<string>
}

const historyMessage = response<HistoryMessage>(() => ({
  id: z.string(),
  content: z.string(),
  role: z.string(),
  created_at: z.string(),
  context_id: z.string(),
  end: z.string(),
}))

/** One page of messages (docs/interface.md, "Chat history"). The service decides their order. */
export interface HistoryPage extends Received {
  messages?: Maybe<HistoryMessage[]>
  has_more?: Maybe<boolean>
}

/** @internal */
export const historyPage = response<HistoryPage>(() => ({
  messages: z.array(historyMessage),
  has_more: z.boolean(),
}))
