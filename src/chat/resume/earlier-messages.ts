import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import type { Message } from '../../contract/resources/completion.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type Conversation, fetchMessages, toMessages } from '../conversation.ts'
import type { SessionOutput } from '../session-output.ts'
import { describeStatus, type Turn } from '../transcript/transcript.ts'

/** A message of the merged conversation, and how the two records of it differ. */
export interface MergedMessage {
  message: Message
  /**
   * `here`: only this machine has it. `service`: only the service has it. `longer`: the service has
   * more of it, and `message` is that text. `shorter`: the service has less of it.
   */
  difference: 'none' | 'here' | 'service' | 'longer' | 'shorter'
}

/** Maximum number of messages, at the end of either record, that are compared. */
const compared = 200

/**
 * Merges the messages of this machine with the newest ones of the service. The result has every message, in the order
 * of both. Of the messages that only one of them has, those of this machine come first, unless nothing before is shared:
 * then those of the service are older.
 * @param local all messages of this machine, oldest first
 * @param remote the newest page of the service, oldest first
 * @param isWhole whether `remote` begins with the first message of the conversation
 */
export function reconcile(
  local: readonly Message[],
  remote: readonly Message[],
  isWhole: boolean,
): MergedMessage[] {
  const here = local.slice(-compared)
  const there = remote.slice(-compared)
  const merged = align(here, there)
  // Messages before the page are not missing: they are on an earlier page.
  const firstShared = isWhole ? 0 : merged.findIndex(({ difference }) => difference !== 'here')
  const before = local.slice(0, local.length - here.length)
  // If all of `local` was compared, the rest of `remote` is older than all of it.
  const older = before.length > 0 ? [] : remote.slice(0, remote.length - there.length)
  return [
    ...older.map((message): MergedMessage => ({ message, difference: 'service' })),
    ...before.map((message): MergedMessage => ({ message, difference: 'none' })),
    ...merged.map(
      (entry, index): MergedMessage => (index < firstShared ? { ...entry, difference: 'none' } : entry),
    ),
  ]
}

/** Merges with the history if the service stores the conversation and the history can be read. */
export async function mergeWithHistory(
  client: Client,
  { mode, contextId, messages }: Conversation,
  signal: AbortSignal,
): Promise<{ entries: MergedMessage[]; failure?: string }> {
  const ours = messages.map((message): MergedMessage => ({ message, difference: 'none' }))
  if (mode !== 'context' || contextId === undefined) return { entries: ours }
  try {
    const pages = client.history.pages({ context_id: contextId }, { signal })
    const { value: newest } = await pages.next()
    const remote = (newest?.messages ?? []).flatMap(toMessages)
    return { entries: reconcile(messages, remote, newest?.response.body?.has_more !== true) }
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
    const merged = align(messages.slice(0, compared), await fetchMessages(client, contextId, signal))
    if (merged.every(({ difference }) => difference === 'here' || difference === 'service')) return
    const end = merged.findLastIndex(({ difference }) => difference !== 'service')
    const added = merged.slice(0, end + 1).map(({ message }) => message)
    Object.assign(conversation, { messages: [...added, ...messages.slice(compared)], lacksBeginning: false })
  } catch (error) {
    if (signal.aborted || !(error instanceof Failure)) throw error
  }
}

/** Aligns both by their longest common subsequence. */
function align(here: readonly Message[], there: readonly Message[]): MergedMessage[] {
  const width = there.length + 1
  const lengths = new Uint16Array((here.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = here.length - 1; row >= 0; row--) {
    for (let column = there.length - 1; column >= 0; column--) {
      lengths[row * width + column] = match(here[row], there[column])
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const merged: MergedMessage[] = []
  /** Messages that only one of them has, since the last message of both. */
  const alone: { ours: MergedMessage[]; theirs: MergedMessage[] } = { ours: [], theirs: [] }
  const endAlone = (): void => {
    const [ours, theirs] = [alone.ours.splice(0), alone.theirs.splice(0)]
    merged.push(...(merged.length > 0 ? [...ours, ...theirs] : [...theirs, ...ours]))
  }
  let row = 0
  let column = 0
  while (row < here.length || column < there.length) {
    const ours = here[row]
    const theirs = there[column]
    const difference = match(ours, theirs)
    if (ours && theirs && difference) {
      endAlone()
      merged.push({ message: difference === 'longer' ? theirs : ours, difference })
      row++
      column++
    } else if (ours && (!theirs || at(row + 1, column) >= at(row, column + 1))) {
      alone.ours.push({ message: ours, difference: 'here' })
      row++
    } else if (theirs) {
      alone.theirs.push({ message: theirs, difference: 'service' })
      column++
    }
  }
  endAlone()
  return merged
}

/** How two records of one message differ, one of which may be truncated. Undefined for two messages. */
function match(ours: Message | undefined, theirs: Message | undefined) {
  if (!ours || !theirs || ours.role !== theirs.role) return undefined
  if (ours.content === theirs.content) return 'none'
  if (ours.role !== 'assistant' || ours.content === '' || theirs.content === '') return undefined
  if (theirs.content.startsWith(ours.content)) return 'longer'
  return ours.content.startsWith(theirs.content) ? 'shorter' : undefined
}

/** Number of earlier turns that are shown when a conversation is resumed. */
const shownTurns = 2

const notes: Record<MergedMessage['difference'], string | undefined> = {
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
  entries: readonly MergedMessage[],
  turns: ReadonlyMap<Message, Turn> = new Map(),
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
    const turn = message.role === 'assistant' ? turns.get(message) : undefined
    const status = turn && describeStatus(turn)
    if (status !== undefined) output.note(`[${status}]`)
  }
  if (entries.length > 0) output.separate()
}

function describeHidden(showCommand: string, hidden: readonly MergedMessage[], all: number): string {
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

/**
 * The turns that the messages of a conversation come from. Of equal turns, the newest belongs to the
 * newest message. Messages without a turn, such as those from the history, are omitted.
 */
export function findTurns(messages: readonly Message[], turns: readonly Turn[]): Map<Message, Turn> {
  const byText = new Map<string, Turn[]>()
  for (const turn of turns) {
    const key = keyOf(turn.user, turn.reply)
    byText.set(key, [...(byText.get(key) ?? []), turn])
  }
  const found = new Map<Message, Turn>()
  for (let index = messages.length - 1; index > 0; index--) {
    const [prompt, reply] = [messages[index - 1], messages[index]]
    if (prompt?.role !== 'user' || reply?.role !== 'assistant') continue
    const turn = byText.get(keyOf(prompt.content, reply.content))?.pop()
    if (!turn) continue
    found.set(prompt, turn)
    found.set(reply, turn)
  }
  return found
}

function keyOf(prompt: string, reply: string): string {
  return JSON.stringify([prompt, reply])
}
