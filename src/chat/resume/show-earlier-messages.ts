import type { Message } from '../../contract/resources/completion.ts'
import { countOf } from '../../view/format/count.ts'
import type { SessionOutput } from '../session-output.ts'
import { describeStatus, type Turn } from '../transcript/transcript.ts'
import type { MergedMessage } from './reconcile.ts'

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
 *
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
