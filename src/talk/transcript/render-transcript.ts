import { closeFence } from './close-fence.ts'
import { describeStatus } from './describe-status.ts'
import { describeEvents, describeTranscript } from './describe-transcript.ts'
import type { Transcript, Turn } from './transcript.ts'

export type TranscriptForm = 'text' | 'md' | 'json' | 'jsonl'

/** A session in the form that was asked for, in parts, each of whole lines. */
export function* renderTranscript(transcript: Transcript, form: TranscriptForm): Generator<string> {
  switch (form) {
    case 'text':
      yield* renderText(transcript)
      break
    case 'md':
      yield* renderMarkdown(transcript)
      break
    case 'json':
      yield `${JSON.stringify(describeTranscript(transcript), null, 2)}\n`
      break
    case 'jsonl':
      for (const event of describeEvents(transcript)) yield `${JSON.stringify(event)}\n`
  }
}

function* renderText(transcript: Transcript): Generator<string> {
  yield `${titleOf(transcript)}\n`
  for (const turn of transcript.turns) {
    yield `\n--- ${borderOf(turn)} ---\n\nYou: ${withNewline(turn.user)}`
    if (turn.answer !== '') yield `\n${withNewline(turn.answer)}`
    const status = describeStatus(turn)
    if (status !== undefined) yield `\n[${status}]\n`
  }
}

function* renderMarkdown(transcript: Transcript): Generator<string> {
  yield `# ${titleOf(transcript)}\n`
  for (const turn of transcript.turns) {
    const question = turn.user.trimEnd().replaceAll(/^/gm, '> ')
    yield `\n---\n\n**You**, ${borderOf(turn)}\n\n${question}\n`
    if (turn.answer !== '') yield `\n${withNewline(closeFence(turn.answer))}`
    const status = describeStatus(turn)
    if (status !== undefined) yield `\n*[${status}]*\n`
  }
}

function titleOf({ id, name, profile, contextId }: Transcript): string {
  const parts = [name === undefined ? `Session ${id}` : `${name}, session ${id}`]
  if (profile !== null) parts.push(`profile ${profile}`)
  if (contextId !== undefined) parts.push(`context ${contextId}`)
  return parts.join(', ')
}

/** `1, 2026-01-02 03:04:05 UTC, small`. */
function borderOf({ number, at, model }: Turn): string {
  const time = `${at.slice(0, 19).replace('T', ' ')} UTC`
  return [number, time, ...(model === undefined ? [] : [model])].join(', ')
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}
