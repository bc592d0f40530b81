import type { Message } from '../../contract/completion.ts'
import { countOf } from '../../view/count.ts'
import type { SessionOutput } from '../session-output.ts'
import { describeStatus, type Turn } from '../transcript/transcript.ts'
import type { MergedMessage } from './reconcile.ts'

/** Turns of an earlier conversation that are shown when it is taken up again. */
const shownTurns = 2

const words: Record<MergedMessage['difference'], string | undefined> = {
  none: undefined,
  here: '[only on this machine, not in the history of the service]',
  service: '[only in the history of the service]',
  longer: '[from the history of the service, which has more of this reply]',
  shorter: '[the history of the service has less of this reply]',
}

/**
 * Shows the last turns of a conversation, and where the two accounts of it disagree.
 *
 * @param showCommand the command line that shows all of it
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
    if (message.role === 'user') output.showPrompt(message.content)
    else output.showReply(message.content)
    const word = words[difference]
    if (word !== undefined) output.note(word)
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

/** The last question of a session, where no word of an answer came. */
export function showPromptWithoutReply(output: SessionOutput, turn: Turn): void {
  output.showPrompt(turn.user)
  output.note(`[${describeStatus(turn) ?? turn.status}; /retry sends it again]`)
  output.separate()
}
