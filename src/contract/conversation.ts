import * as z from 'zod/mini'
import { answer, request } from './shapes.ts'

/** interface.md, "Send-message request". */
export const sendRequest = request(() => ({
  message: z.string(),
  context_id: z.string(),
  model: z.string(),
  stream: z.boolean(),
}))
export type SendRequest = z.infer<typeof sendRequest>

/** interface.md, "Send-message response". */
export const sendAnswer = answer(() => ({
  id: z.string(),
  response: z.string(),
  context_id: z.string(),
  created_at: z.string(),
}))
export type SendAnswer = z.infer<typeof sendAnswer>

/** interface.md, "Chat history": `before` is a cursor for paging backwards. */
export const historyQuery = request(() => ({
  context_id: z.string(),
  limit: z.number(),
  before: z.string(),
}))
export type HistoryQuery = z.infer<typeof historyQuery>

const historyMessage = answer(() => ({
  id: z.string(),
  content: z.string(),
  role: z.string(),
  created_at: z.string(),
}))
export type HistoryMessage = z.infer<typeof historyMessage>

export const historyPage = answer(() => ({
  messages: z.array(historyMessage),
  has_more: z.boolean(),
}))
export type HistoryPage = z.infer<typeof historyPage>
