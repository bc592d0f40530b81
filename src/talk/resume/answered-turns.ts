import type { Message } from '../../contract/completion.ts'
import type { Turn } from '../transcript/transcript.ts'

/**
 * The turns that the messages of a conversation come from, the newest of the same words last. A
 * message of which no transcript has a turn, such as one from the service's history, is left out.
 */
export function findTurns(messages: readonly Message[], turns: readonly Turn[]): Map<Message, Turn> {
  const byWords = new Map<string, Turn[]>()
  for (const turn of turns) {
    const key = keyOf(turn.user, turn.answer)
    byWords.set(key, [...(byWords.get(key) ?? []), turn])
  }
  const found = new Map<Message, Turn>()
  for (let index = messages.length - 1; index > 0; index--) {
    const [question, answer] = [messages[index - 1], messages[index]]
    if (question?.role !== 'user' || answer?.role !== 'assistant') continue
    const turn = byWords.get(keyOf(question.content, answer.content))?.pop()
    if (!turn) continue
    found.set(question, turn)
    found.set(answer, turn)
  }
  return found
}

function keyOf(question: string, answer: string): string {
  return JSON.stringify([question, answer])
}
