import { Failure } from '../contract/failure.ts'
import { isoNow } from '../system/clock.ts'
import { Conversation, fetchMessages } from './conversation.ts'
import { type Beginning, demandOwn, type OpenOptions, transcriptOwner } from './conversation-start.ts'
import { fetchBeginning } from './earlier-messages.ts'
import { buildTranscript, readLines } from './transcript/read-transcript.ts'
import { cleanName, nameOf, type Transcript } from './transcript/transcript.ts'
import { sessionIdOf } from './transcript/transcript-files.ts'
import type { TranscriptLine } from './transcript/transcript-line.ts'
import { TranscriptWriter } from './transcript/transcript-writer.ts'

/**
 * Begins with a copy of a conversation. The original is only read, so it may be open in another process. The service
 * cannot continue from an earlier message, so this machine stores the fork.
 * @throws Failure `usage` if the conversation has no such message, or belongs to another connection
 */
export async function forkConversation(options: OpenOptions): Promise<Beginning> {
  const { run, client, signal, isRecorded, fork = true } = options
  const at = isoNow(run.clock)
  const { lines, whole } = await readSource(options, at)
  // A conversation in memory has no first line.
  if (whole.at !== '') await demandOwn(run, whole)
  const hint = `See the numbers with /history, or with: ${run.commandFor('chat', 'show', whole.id)}`
  const last = readMessageNumber(fork, whole, hint)
  const kept = linesThrough(lines, last)
  const conversation = Conversation.ofTranscript(buildTranscript(whole.id, kept))
  const { mode, lacksBeginning } = conversation
  if (lacksBeginning) await fetchBeginning(client, conversation, signal)
  Object.assign(conversation, { mode: 'completions', contextId: undefined })
  const original = nameOf(whole) ?? whole.id
  const name = original.endsWith(' (fork)') ? original : cleanName(`${original} (fork)`)
  kept.push({ type: 'name', name }, conversation.optionsLine(at))
  if (lacksBeginning) kept.push(conversation.conversationLine(at))
  const forkedFrom = whole.id || undefined
  const writer = isRecorded
    ? TranscriptWriter.create(run.directories.sessions, transcriptOwner(run), run.clock, forkedFrom)
    : undefined
  writer?.append(kept)
  const transcript = { ...buildTranscript(whole.id, kept), forkedFrom }
  const part = last === whole.turns.at(-1)?.number ? 'all messages' : `your messages up to number ${last}`
  const notes = [
    `Fork of ${forkedFrom ?? 'this session'}, with ${part}.`,
    mode === 'context' && '[this machine stores the fork and sends all of it with each message]',
    transcript.lacksBeginning &&
      '[only the service has the messages before the first one, and they cannot be fetched]',
  ]
  return { conversation: Conversation.ofTranscript(transcript), transcript, writer, notes }
}

/** The readable lines of a transcript, or those that would record a conversation. */
async function readSource({ begin, client, signal, current }: OpenOptions, at: string) {
  const { path } = begin
  if (path !== undefined) {
    const lines = [...readLines(path)].filter((line) => line !== undefined)
    return { lines, whole: buildTranscript(sessionIdOf(path), lines) }
  }
  const inMemory =
    begin.kind === 'context'
      ? Object.assign(new Conversation(), {
          contextId: begin.id,
          messages: await fetchMessages(client, begin.id, signal),
        })
      : (current ?? new Conversation())
  const lines = linesOf(inMemory, at)
  return { lines, whole: buildTranscript(inMemory.contextId ?? '', lines) }
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
function readMessageNumber(typed: string | true, { turns }: Transcript, hint: string): number {
  const [first, last] = [turns[0]?.number, turns.at(-1)?.number]
  if (first === undefined || last === undefined) throw new Failure('usage', 'There are no messages to fork')
  const number = typed === true ? last : Number(typed)
  if (Number.isInteger(number) && number >= first && number <= last) return number
  const range = `"${typed}" is not the number of a message from ${first} to ${last}`
  throw new Failure('usage', range, { hint })
}

/** The lines up to the reply to a message. Those after it may change the messages, as /retry does. */
function linesThrough(lines: readonly TranscriptLine[], last: number): TranscriptLine[] {
  const next = lines.findIndex((line) => line.type === 'user' && line.turn > last)
  const end = next < 0 ? lines.length : lines.slice(0, next).findLastIndex((line) => 'turn' in line)
  return lines.filter((line, index) => {
    if (line.type === 'session' || line.type === 'name') return false
    return 'turn' in line ? line.turn <= last : index < end
  })
}
