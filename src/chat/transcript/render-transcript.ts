import type { HistoryMessage } from '../../contract/resources/conversation.ts'
import { describeStreamEvent } from '../../view/chat.ts'
import { localTime } from '../../view/format/quantities.ts'
import { describeProfile, nameOf, type ProfileNameOf, type Transcript } from './transcript.ts'
import { describeStatus, isEnded, type Turn } from './turn.ts'

export type TranscriptFormat = 'text' | 'markdown' | 'json' | 'jsonl'

/**
 * Renders a session, in parts of whole lines.
 * @param profileNameOf finds the name of the profile
 * @param hasReasoning whether `text` and `markdown` contain the reasoning of the model; JSON always does
 */
export function* renderTranscript(
  transcript: Transcript,
  format: TranscriptFormat,
  profileNameOf: ProfileNameOf,
  hasReasoning = false,
): Generator<string> {
  if (format === 'text') yield* renderText(transcript, profileNameOf, hasReasoning)
  else if (format === 'markdown') yield* renderMarkdown(transcript, profileNameOf, hasReasoning)
  else if (format === 'json')
    yield `${JSON.stringify(describeTranscript(transcript, profileNameOf), null, 2)}\n`
  else for (const event of describeEvents(transcript)) yield `${JSON.stringify(event)}\n`
}

function* renderText(
  transcript: Transcript,
  profileNameOf: ProfileNameOf,
  hasReasoning: boolean,
): Generator<string> {
  yield `${titleOf(transcript, profileNameOf)}\n`
  for (const turn of transcript.turns) {
    yield `\n--- ${headingOf(turn, localTime(turn.at))} ---\n\nYou: ${withNewline(turn.user)}`
    const reasoning = hasReasoning ? turn.reasoning : undefined
    if (reasoning !== undefined) yield `\nReasoning: ${withNewline(reasoning.trim())}`
    const label = reasoning === undefined ? '' : 'Reply: '
    if (turn.reply !== '') yield `\n${label}${withNewline(turn.reply)}`
    const status = describeStatus(turn)
    if (status !== undefined) yield `\n[${status}]\n`
  }
}

function* renderMarkdown(
  transcript: Transcript,
  profileNameOf: ProfileNameOf,
  hasReasoning: boolean,
): Generator<string> {
  yield `# ${titleOf(transcript, profileNameOf)}\n`
  for (const turn of transcript.turns) {
    yield `\n---\n\n**You**, ${headingOf(turn)}\n\n${quote(turn.user)}\n`
    if (hasReasoning && turn.reasoning !== undefined)
      yield `\n**Reasoning**\n\n${quote(turn.reasoning.trim())}\n${turn.reply === '' ? '' : '\n**Reply**\n'}`
    if (turn.reply !== '') yield `\n${withNewline(closeFence(turn.reply))}`
    const status = describeStatus(turn)
    if (status !== undefined) yield `\n*[${status}]*\n`
  }
}

function quote(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '> ')
}

/** A session as messages of a history. Why a reply may be incomplete is a message, too. */
export function* messagesOf({ turns }: Transcript, hasReasoning: boolean): Generator<HistoryMessage> {
  for (const turn of turns) {
    yield { role: 'user', content: turn.user, created_at: turn.at }
    if (hasReasoning && turn.reasoning !== undefined) yield { role: 'reasoning', content: turn.reasoning }
    if (turn.reply !== '') yield { role: 'assistant', content: turn.reply }
    const status = describeStatus(turn)
    if (status !== undefined) yield { role: 'status', content: status }
  }
}

export function titleOf(transcript: Transcript, profileNameOf: ProfileNameOf): string {
  const { id, profile, contextId } = transcript
  const name = nameOf(transcript)
  const parts = [name === undefined ? `Session ${id}` : `${name}, session ${id}`]
  if (profile !== null) parts.push(describeProfile(profile, profileNameOf))
  if (contextId !== undefined) parts.push(`conversation ${contextId}`)
  return parts.join(', ')
}

/** `1, 2026-01-02 03:04:05 UTC, small`. Only a document, which others may read, has UTC. */
function headingOf({ number, at, model }: Turn, local?: string): string {
  const time = local ?? `${at.slice(0, 19).replace('T', ' ')} UTC`
  return [number, time, ...(model === undefined ? [] : [model])].join(', ')
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Closes a code block that a reply leaves open, so that the following text is not code (CommonMark 4.5). */
function closeFence(text: string): string {
  let open: string | undefined
  for (const line of text.split('\n')) {
    const [, fence = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/s.exec(line) ?? []
    if (fence === '') continue
    if (open === undefined) {
      // An opening fence of backticks cannot contain another backtick.
      if (!(fence.startsWith('`') && rest.includes('`'))) open = fence
    } else if (fence[0] === open[0] && fence.length >= open.length && rest.trim() === '') open = undefined
  }
  if (open === undefined) return text
  return `${text}${text.endsWith('\n') ? '' : '\n'}${open}\n`
}

/** The JSON of a session, version 1. Unknown values are omitted. */
function describeTranscript(transcript: Transcript, profileNameOf: ProfileNameOf): Record<string, unknown> {
  const { id, at, updatedAt, profile, baseUrl, forkedFrom, mode, contextId, model, system } = transcript
  return {
    v: 1,
    id,
    at,
    updated_at: updatedAt,
    profile: profile && (profileNameOf(profile) ?? null),
    base_url: baseUrl,
    name: nameOf(transcript),
    forked_from: forkedFrom,
    mode,
    context_id: contextId,
    model,
    system,
    temperature: transcript.temperature,
    max_tokens: transcript.maxTokens,
    turns: transcript.turns.map(describeTurn),
  }
}

function describeTurn(turn: Turn): Record<string, unknown> {
  return {
    turn: turn.number,
    at: turn.at,
    user: turn.user,
    reasoning: turn.reasoning,
    answer: turn.reply,
    status: turn.status,
    context_id: turn.contextId,
    id: turn.id,
    model: turn.model,
    usage: turn.usage,
    finish_reason: turn.finishReason,
    end: turn.end,
    tools: turn.tools,
    reason: turn.reason,
    first_ms: turn.firstMs,
    total_ms: turn.totalMs,
  }
}

/** A session as JSON events: for each turn its prompt, and the events of its reply. */
function* describeEvents({ turns }: Transcript): Generator<Record<string, unknown>> {
  for (const turn of turns) {
    yield { v: 1, type: 'user', text: turn.user }
    yield* replayTurn(turn)
  }
}

/** The public events of a reply, in their order. Every reply has a `start` and an `end`, also one that never began. */
export function* replayTurn(turn: Turn): Generator<Record<string, unknown>> {
  const { events, status, end, tools, finishReason, id, contextId, reply: text, reason } = turn
  if (events[0]?.type !== 'start') yield { v: 1, type: 'start' }
  yield* events
  const how = { end, complete: isEnded(turn), verified: status === 'complete', reason }
  yield describeStreamEvent({ type: 'end', ...how, tools, finishReason, id, contextId, text })
}
