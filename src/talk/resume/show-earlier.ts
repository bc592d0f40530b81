import type { Message } from '../../contract/completion.ts'
import { countOf } from '../../view/count.ts'
import type { Session } from '../session.ts'
import { describeStatus } from '../transcript/describe-status.ts'
import type { Turn } from '../transcript/transcript.ts'
import type { Reconciled } from './reconcile.ts'

/** Turns of an earlier conversation that are shown when it is taken up again. */
const shownTurns = 2

const words: Record<Reconciled['mark'], string | undefined> = {
  none: undefined,
  here: "[only on this machine: the service's history does not have it]",
  service: "[only in the service's history]",
  longer: "[as the service's history has it: more than had come here]",
  shorter: "[the service's history has less of it than came here]",
}

/** Shows the last turns of a conversation, and where the two accounts of it disagree. */
export function showEarlier(
  session: Session,
  entries: readonly Reconciled[],
  turns: ReadonlyMap<Message, Turn> = new Map(),
): void {
  const prompts = entries.flatMap(({ message }, index) => (message.role === 'user' ? [index] : []))
  const first = prompts.at(-shownTurns) ?? 0
  const hidden = entries.slice(0, first)
  if (hidden.length > 0) session.voice.note(describeHidden(session, hidden, entries.length))
  for (const { message, mark } of entries.slice(first)) {
    if (message.role === 'user') showPrompt(session, message.content)
    else showAnswer(session, message.content)
    const word = words[mark]
    if (word !== undefined) session.voice.note(word)
    const turn = message.role === 'assistant' ? turns.get(message) : undefined
    const status = turn && describeStatus(turn)
    if (status !== undefined) session.voice.note(`[${status}]`)
  }
  if (entries.length > 0) session.screen.separate()
}

function describeHidden({ recorder, options }: Session, hidden: readonly Reconciled[], all: number): string {
  const words = `… ${countOf(hidden.length, 'earlier message')}`
  const here = hidden.filter(({ mark }) => mark === 'here').length
  if (here === 0) return `${words}; /history ${all} shows them`
  return `${words}, ${here} of them only on this machine: ${options.showCommand(recorder.id)}`
}

/** The last question of a session, where no word of an answer came. */
export function showUnanswered(session: Session, turn: Turn): void {
  showPrompt(session, turn.user)
  session.voice.note(`[${describeStatus(turn) ?? turn.status}; /retry sends it again]`)
  session.screen.separate()
}

/** A prompt as it looked when it was typed. */
export function showPrompt(session: Session, text: string): void {
  session.voice.say(`> ${text.replaceAll('\n', '\n  ')}`)
}

export function showAnswer(session: Session, text: string): void {
  const writer = session.createWriter()
  session.screen.append(writer.push(text) + writer.end())
}
