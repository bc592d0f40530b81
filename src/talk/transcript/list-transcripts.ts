import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ContextOwner } from '../../config/last-context.ts'
import { readHeadAndTail } from './read-transcript.ts'
import { extension } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'
import type { Transcript } from './transcript.ts'

/** What a list says of a session. */
export interface TranscriptSummary {
  id: string
  path: string
  /** When it began and when it was last written to, ISO 8601; empty where nothing tells. */
  at: string
  updatedAt: string
  turns: number
  profile: string | null
  /** Null is the embedded service. */
  baseUrl: string | null
  name?: string
  /** Whether the service keeps the conversation, or this machine does. */
  mode: Transcript['mode']
  /** The conversation on the service, or the one that this began as. */
  contextId?: string
  /** The model that was asked for, or else the one that answered. */
  model?: string
  firstMessage?: string
}

/**
 * The sessions of this machine, the last used first. What cannot be read is left out.
 *
 * @param owner whose alone; undefined for everybody's
 * @param most looks at no more than so many, those that began last
 * @throws Failure `storage` where the directory is there and cannot be read
 */
export function listTranscripts(
  directory: string,
  owner?: ContextOwner,
  most = Number.POSITIVE_INFINITY,
): TranscriptSummary[] {
  const paths = transcriptPaths(directory).sort((a, b) => compare(b, a))
  const summaries = paths.slice(0, most).flatMap((path) => summarize(path) ?? [])
  const wanted = owner ? summaries.filter((summary) => belongsTo(summary, owner)) : summaries
  return wanted.sort((a, b) => compare(b.updatedAt, a.updatedAt) || compare(b.id, a.id))
}

/** Whether a session was one of this connection. */
export function belongsTo(
  { profile, baseUrl }: Pick<Transcript, 'profile' | 'baseUrl'>,
  owner: ContextOwner,
): boolean {
  return profile === (owner.profile ?? null) && baseUrl === (owner.baseUrl ?? null)
}

/** Every transcript of a directory; none where there is no directory yet. */
export function transcriptPaths(directory: string): string[] {
  return withStorageErrors(directory, 'read', () => {
    try {
      const names = readdirSync(directory).filter((name) => name.endsWith(extension))
      return names.map((name) => join(directory, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
}

function summarize(path: string): TranscriptSummary | undefined {
  try {
    const {
      id,
      at,
      updatedAt,
      profile,
      baseUrl,
      name,
      mode,
      contextId,
      model: asked,
      turns,
    } = readHeadAndTail(path)
    const last = turns.at(-1)
    const model = asked ?? last?.model
    return {
      id,
      path,
      at,
      updatedAt,
      turns: last?.number ?? 0,
      profile,
      baseUrl,
      mode,
      ...(name === undefined ? {} : { name }),
      ...(contextId === undefined ? {} : { contextId }),
      ...(model === undefined ? {} : { model }),
      ...(turns[0] === undefined ? {} : { firstMessage: turns[0].user }),
    }
  } catch {
    return undefined
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

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
