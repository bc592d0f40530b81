import type { TranscriptSummary } from './list-transcripts.ts'

/** Characters of a first message that tell one session from another. */
const enough = 60

/** The public form of a summary, with the interface's spelling; null for what is not known. */
export function describeSummary(summary: TranscriptSummary): Record<string, unknown> {
  const { id, at, updatedAt, turns, model, contextId, name, firstMessage, profile, baseUrl } = summary
  return {
    id,
    updated_at: updatedAt,
    turns,
    model: model ?? null,
    context_id: contextId ?? null,
    name: name ?? null,
    first_message: firstMessage === undefined ? null : cut(firstMessage),
    profile,
    base_url: baseUrl,
    at,
  }
}

/** On one line. */
function cut(text: string): string {
  // What is far behind the end does not matter, however long it is.
  const line = text
    .slice(0, 10 * enough)
    .trim()
    .replaceAll(/\s+/g, ' ')
  const characters = Array.from(line)
  return characters.length > enough || text.length > 10 * enough
    ? `${characters.slice(0, enough - 1).join('')}…`
    : line
}
