import { countOf } from '../../view/count.ts'
import type { Session } from '../session.ts'
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
export function showEarlier(session: Session, entries: readonly Reconciled[]): void {
  const prompts = entries.flatMap(({ message }, index) => (message.role === 'user' ? [index] : []))
  const first = prompts.at(-shownTurns) ?? 0
  const hidden = prompts.filter((index) => index < first).length
  if (hidden > 0) session.voice.note(`… ${countOf(hidden, 'earlier turn')}; /history shows them`)
  for (const { message, mark } of entries.slice(first)) {
    if (message.role === 'user') showPrompt(session, message.content)
    else showAnswer(session, message.content)
    const word = words[mark]
    if (word !== undefined) session.voice.note(word)
  }
  if (entries.length > 0) session.screen.separate()
}

/** A prompt as it looked when it was typed. */
export function showPrompt(session: Session, text: string): void {
  session.voice.say(`> ${text.replaceAll('\n', '\n  ')}`)
}

export function showAnswer(session: Session, text: string): void {
  const writer = session.createWriter()
  session.screen.append(writer.push(text) + writer.end())
}
