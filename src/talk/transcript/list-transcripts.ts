import type { ContextOwner } from '../../config/last-context.ts'
import { splitFiles } from '../../contract/file-block.ts'
import { readHeadAndTail } from './read-transcript.ts'
import type { Transcript } from './transcript.ts'
import { transcriptPaths } from './transcript-files.ts'

/** A session, as lists show it. */
export interface TranscriptSummary {
  id: string
  path: string
  /** When it began and when it was last written, ISO 8601. Empty if unknown. */
  at: string
  updatedAt: string
  turns: number
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
  name?: string
  /** Whether the service stores the conversation, or this machine. */
  mode: Transcript['mode']
  /** The conversation on the service, or the one that this session began as. */
  contextId?: string
  /** The requested model, else the one that the last reply named. */
  model?: string
  firstMessage?: string
}

/**
 * Lists the sessions of this machine, the last used first. Unreadable transcripts are omitted.
 *
 * @param owner only sessions of this service and profile; undefined for all
 * @param limit reads at most this many, those that began last
 * @throws Failure `storage` if the directory exists and cannot be read
 */
export function listTranscripts(
  directory: string,
  owner?: ContextOwner,
  limit = Number.POSITIVE_INFINITY,
): TranscriptSummary[] {
  const paths = transcriptPaths(directory).sort((a, b) => compare(b, a))
  const summaries = paths.slice(0, limit).flatMap((path) => summarize(path) ?? [])
  const wanted = owner ? summaries.filter((summary) => belongsTo(summary, owner)) : summaries
  return wanted.sort((a, b) => compare(b.updatedAt, a.updatedAt) || compare(b.id, a.id))
}

/** Whether a session belongs to a service and profile. */
export function belongsTo(
  { profile, baseUrl }: Pick<Transcript, 'profile' | 'baseUrl'>,
  owner: ContextOwner,
): boolean {
  return profile === (owner.profile ?? null) && baseUrl === (owner.baseUrl ?? null)
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
      model: requested,
      turns,
    } = readHeadAndTail(path)
    const last = turns.at(-1)
    const model = requested ?? last?.model
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
      ...(turns[0] === undefined ? {} : { firstMessage: splitFiles(turns[0].user).text }),
    }
  } catch {
    return undefined
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Maximum length of a first message in a list, in characters. */
const maxLength = 60

/** The JSON of a session in a list. Null for unknown values. */
export function describeSummary(summary: TranscriptSummary): Record<string, unknown> {
  const { id, at, updatedAt, turns, model, contextId, name, firstMessage, profile, baseUrl } = summary
  return {
    id,
    updated_at: updatedAt,
    turns,
    model: model ?? null,
    context_id: contextId ?? null,
    name: name ?? null,
    first_message: firstMessage === undefined ? null : shorten(firstMessage),
    profile,
    base_url: baseUrl,
    at,
  }
}

/** The beginning of a text, on one line. */
function shorten(text: string): string {
  // Avoid processing all of a long text.
  const line = text
    .slice(0, 10 * maxLength)
    .trim()
    .replaceAll(/\s+/g, ' ')
  const characters = Array.from(line)
  return characters.length > maxLength || text.length > 10 * maxLength
    ? `${characters.slice(0, maxLength - 1).join('')}…`
    : line
}
