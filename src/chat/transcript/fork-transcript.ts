import { Failure } from '../../contract/failure.ts'
import type { Conversation } from '../conversation.ts'
import { buildTranscript, readLines } from './read-transcript.ts'
import type { Transcript, TranscriptLine } from './transcript.ts'
import { sessionIdOf } from './transcript-files.ts'

/** The readable lines of a transcript by its path, or those that would record a conversation. */
export function readForkSource(source: string | Conversation, at: string) {
  const isPath = typeof source === 'string'
  const lines = (isPath ? [...readLines(source)] : linesOf(source, at)).filter((line) => line !== undefined)
  return { lines, whole: buildTranscript(isPath ? sessionIdOf(source) : (source.contextId ?? ''), lines) }
}

function linesOf(conversation: Conversation, at: string): TranscriptLine[] {
  let turn = 0
  // The messages are those of the turns below.
  const beginning = { ...conversation.conversationLine(at), messages: [] }
  return [
    conversation.optionsLine(at),
    ...(conversation.lacksBeginning ? [beginning] : []),
    ...conversation.messages.flatMap(({ role, content: text }): TranscriptLine[] => {
      if (role === 'user') return [{ type: 'user', turn: ++turn, at, text }]
      const end = { type: 'end', turn, at, complete: true, verified: true } as const
      return role === 'system' ? [] : [{ type: 'delta', turn, text }, end]
    }),
  ]
}

/**
 * The number of the last message of the user in a fork.
 * @param typed true for all
 * @throws Failure `usage` if there is no such message
 */
export function readMessageNumber(typed: string | true, { turns }: Transcript, hint: string): number {
  const [first, last] = [turns[0]?.number, turns.at(-1)?.number]
  if (first === undefined || last === undefined) throw new Failure('usage', 'There are no messages to fork')
  const number = typed === true ? last : Number(typed)
  if (Number.isInteger(number) && number >= first && number <= last) return number
  const range = `"${typed}" is not the number of a message from ${first} to ${last}`
  throw new Failure('usage', range, { hint })
}

/** The lines up to the reply to a message. Those after it may change the messages, as /retry does. */
export function linesThrough(lines: readonly TranscriptLine[], last: number): TranscriptLine[] {
  const next = lines.findIndex((line) => line.type === 'user' && line.turn > last)
  const end = next < 0 ? lines.length : lines.slice(0, next).findLastIndex((line) => 'turn' in line)
  return lines.filter((line, index) => {
    if (line.type === 'session' || line.type === 'name') return false
    return 'turn' in line ? line.turn <= last : index < end
  })
}
