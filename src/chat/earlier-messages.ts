import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { countOf } from '../view/format/quantities.ts'
import { type Conversation, fetchMessages, type RemoteMessage, toMessages } from './conversation.ts'
import type { SessionOutput } from './session-output.ts'
import type { SaidMessage } from './transcript/transcript.ts'
import { describeStatus, type Turn } from './transcript/turn.ts'

/** A message of this machine, of the service, or of both, and how the two records of it differ. */
export interface JoinedMessage {
  message: SaidMessage
  /**
   * `here`: only this machine has it. `service`: only the service has it. `longer`: the service has
   * more of it, and `message` is that text. `shorter`: the service has less of it.
   */
  difference: 'none' | 'here' | 'service' | 'longer' | 'shorter'
}

/**
 * Joins the messages of this machine with the newest ones of the service: by the IDs of replies, and between two of
 * these by their text, in their order. The result has every message. Of those that only one has, those of this machine
 * come first, unless nothing before is shared: then those of the service are older.
 * @param local all messages of this machine, oldest first
 * @param remote the newest page of the service, oldest first
 * @param isWhole whether `remote` begins with the first message of the conversation
 */
export function joinMessages(
  local: readonly SaidMessage[],
  remote: readonly RemoteMessage[],
  isWhole: boolean,
): JoinedMessage[] {
  const byId = new Map(remote.flatMap(({ id }, index) => (id == null ? [] : [[id, index]])))
  /** Where the service has the reply of the turn of each message, as far as IDs tell. */
  const replies = local.map(({ turn }) => byId.get(turn?.id ?? ''))
  /** No message may be found beyond the next of these. */
  const limits = [...replies]
  for (let index = limits.length - 1; index >= 0; index--)
    limits[index] ??= limits[index + 1] ?? remote.length
  const joined: JoinedMessage[] = []
  let alone: JoinedMessage[] = []
  let next = 0
  const catchUp = (end: number): void => {
    const { length } = joined
    const theirs = remote.slice(next, end).map(({ role, content }) => service({ role, content }))
    joined.push(...(length > 0 ? [...alone, ...theirs] : [...theirs, ...alone]))
    alone = []
    next = end + 1
  }
  // A part of a reply is recognized by its ID, or directly after its prompt.
  const isSame = (difference: ReturnType<typeof compare>, at: number, index: number) =>
    difference === 'none' || (difference && (replies[index] === at || (at === next && alone.length === 0)))
  for (const [index, message] of local.entries()) {
    const isTheirs = (theirs: RemoteMessage, at: number) =>
      at >= next && at <= (limits[index] ?? 0) && isSame(compare(message, theirs), at, index)
    const at = replies[index] === undefined ? remote.findIndex(isTheirs) : remote.findLastIndex(isTheirs)
    const theirs = remote[at]
    if (!theirs) {
      alone.push({ message, difference: 'here' })
      continue
    }
    catchUp(at)
    const difference = compare(message, theirs) ?? 'none'
    const { content } = difference === 'longer' ? theirs : message
    joined.push({ message: { ...message, content }, difference })
  }
  catchUp(remote.length)
  // Messages before the page are not missing: they are on an earlier page.
  const firstShared = isWhole ? 0 : joined.findIndex(({ difference }) => difference !== 'here')
  return joined.map((entry, index) => (index < firstShared ? { ...entry, difference: 'none' } : entry))
}

const service = (message: SaidMessage): JoinedMessage => ({ message, difference: 'service' })

/** Joins with the history if the service stores the conversation and the history can be read. */
export async function joinWithService(
  client: Client,
  { mode, contextId, messages }: Conversation,
  signal: AbortSignal,
): Promise<{ entries: JoinedMessage[]; failure?: string }> {
  const ours = messages.map((message): JoinedMessage => ({ message, difference: 'none' }))
  if (mode !== 'context' || contextId === undefined) return { entries: ours }
  try {
    const { value: newest } = await client.history.pages({ context_id: contextId }, { signal }).next()
    const isWhole = newest?.response.body?.has_more !== true
    return { entries: joinMessages(messages, (newest?.messages ?? []).flatMap(toMessages), isWhole) }
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
    return { entries: ours, failure: error.message }
  }
}

/** Adds the messages that only the service has, up to the last one of this machine, if the service has them. */
export async function fetchBeginning(
  client: Client,
  conversation: Conversation,
  signal: AbortSignal,
): Promise<void> {
  const { contextId, messages } = conversation
  if (contextId === undefined) return
  try {
    const joined = joinMessages(messages, await fetchMessages(client, contextId, signal), true)
    if (joined.every(({ difference }) => difference === 'here' || difference === 'service')) return
    const end = joined.findLastIndex(({ difference }) => difference !== 'service')
    conversation.messages = joined.slice(0, end + 1).map(({ message }) => message)
    conversation.lacksBeginning = false
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
  }
}

/** How two records of one message differ, one of which may be truncated. Undefined for two messages. */
function compare(ours: SaidMessage, theirs: RemoteMessage) {
  if (ours.role !== theirs.role) return undefined
  if (ours.content === theirs.content) return 'none'
  if (ours.role !== 'assistant' || ours.content === '' || theirs.content === '') return undefined
  if (theirs.content.startsWith(ours.content)) return 'longer'
  return ours.content.startsWith(theirs.content) ? 'shorter' : undefined
}

/** Number of earlier turns that are shown when a conversation is resumed. */
const shownTurns = 2

const notes: Record<JoinedMessage['difference'], string | undefined> = {
  none: undefined,
  here: '[only on this machine, not in the history of the service]',
  service: '[only in the history of the service]',
  longer: '[from the history of the service, which has more of this reply]',
  shorter: '[the history of the service has less of this reply]',
}

/**
 * Shows the last turns of a conversation, and where this machine and the service differ.
 * @param showCommand the command that shows all of it
 */
export function showEarlierMessages(
  output: SessionOutput,
  showCommand: string,
  entries: readonly JoinedMessage[],
): void {
  const prompts = entries.flatMap(({ message }, index) => (message.role === 'user' ? [index] : []))
  const first = prompts.at(-shownTurns) ?? 0
  const hidden = entries.slice(0, first)
  if (hidden.length > 0) output.note(describeHidden(showCommand, hidden, entries.length))
  for (const { message, difference } of entries.slice(first)) {
    output.separate()
    if (message.role === 'user') output.showPrompt(message.content)
    else output.showReply(message.content)
    const note = notes[difference]
    if (note !== undefined) output.note(note)
    const isTold = message.role === 'assistant' && difference !== 'longer'
    const status = isTold && message.turn ? describeStatus(message.turn) : undefined
    if (status !== undefined) output.note(`[${status}]`)
  }
  if (entries.length > 0) output.separate()
}

function describeHidden(showCommand: string, hidden: readonly JoinedMessage[], all: number): string {
  const words = `… ${countOf(hidden.length, 'earlier message')}`
  const here = hidden.filter(({ difference }) => difference === 'here').length
  if (here === 0) return `${words}. Show them with: /history ${all}`
  return `${words}, ${here} of them only on this machine. Show them with: ${showCommand}`
}

/** Shows the last prompt of a session, if it got no reply. */
export function showPromptWithoutReply(output: SessionOutput, turn: Turn): void {
  output.showPrompt(turn.user)
  output.note(`[${describeStatus(turn) ?? turn.status}; /retry sends it again]`)
  output.separate()
}
