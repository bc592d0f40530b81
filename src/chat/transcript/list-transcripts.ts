import { dirname, join } from 'node:path'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { splitFiles } from '../../contract/resources/file-block.ts'
import { oneLine } from '../../terminal/strip-controls.ts'
import { readOutline } from './read-transcript.ts'
import { nameOf, type ProfileNameOf, type Transcript, type TranscriptSummary } from './transcript.ts'
import { extension, sessionIdOf, transcriptFiles, transcriptPaths } from './transcript-files.ts'

export interface ListOptions {
  /** Maximum number of sessions. No more transcripts are read than are needed. */
  limit?: number | undefined
  /** Selects sessions. */
  isWanted?: ((summary: TranscriptSummary) => boolean) | undefined
}

/**
 * Lists the sessions of this machine, the last used first. Unreadable transcripts are omitted.
 * @param owner only sessions of this service and profile; undefined for all
 * @throws Failure `storage` if the directory exists and cannot be read
 */
export function listTranscripts(
  directory: string,
  owner?: ContextOwner,
  { limit = Number.POSITIVE_INFINITY, isWanted = () => true }: ListOptions = {},
): TranscriptSummary[] {
  const found: TranscriptSummary[] = []
  // The last used first, without reading a file: there may be tens of thousands of transcripts.
  const files = transcriptFiles(directory).sort(
    (a, b) => b.modifiedAt - a.modifiedAt || compare(b.path, a.path),
  )
  for (const { path } of files) {
    if (found.length >= limit) break
    const summary = summarize(path)
    if (summary && (!owner || belongsTo(summary, owner)) && isWanted(summary)) found.push(summary)
  }
  return found
}

/** The session in which this machine last used a conversation of the service. */
export function findTranscriptOfContext(directory: string, owner: ContextOwner, id: string) {
  return listTranscripts(directory, owner, {
    limit: 1,
    isWanted: ({ contextId, mode }) => contextId === id && mode === 'context',
  })[0]
}

/** Whether a session belongs to a service and profile. */
export function belongsTo(
  { profile, baseUrl }: Pick<Transcript, 'profile' | 'baseUrl'>,
  owner: ContextOwner,
): boolean {
  return profile === (owner.profile ?? null) && baseUrl === (owner.baseUrl ?? null)
}

/** Undefined if the transcript cannot be read. */
export function summarize(path: string): TranscriptSummary | undefined {
  try {
    const { turns, ...outline } = readOutline(path)
    const [first, last] = [turns[0], turns.at(-1)]
    return {
      ...outline,
      path,
      turns: last?.number ?? 0,
      name: nameOf({ ...outline, turns }),
      isNamed: outline.name !== undefined,
      model: outline.model ?? last?.model,
      firstMessage: first && splitFiles(first.user).text,
    }
  } catch {
    return undefined
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The same for one transcript. Only the ID is known if it cannot be read. */
export function describeSession(path: string, profileNameOf: ProfileNameOf): Record<string, unknown> {
  const summary = summarize(path)
  return summary ? describeSummary(summary, profileNameOf) : { id: sessionIdOf(path) }
}

/** The JSON of a session in a list. Null for unknown values. */
export function describeSummary(
  summary: TranscriptSummary,
  profileNameOf: ProfileNameOf,
): Record<string, unknown> {
  const { id, at, updatedAt, turns, mode, model, contextId, name, firstMessage, profile, baseUrl } = summary
  return {
    id,
    updated_at: updatedAt,
    turns,
    stored: summary.delivery === 'stored' ? 'service' : summary.delivery,
    mode,
    model: model ?? null,
    context_id: contextId ?? null,
    name: name ?? null,
    first_message: firstMessage === undefined ? null : oneLine(firstMessage),
    profile: profile && (profileNameOf(profile) ?? null),
    base_url: baseUrl,
    at,
  }
}

/** @throws Failure `usage` for the ID of another session, and for a name that another one of the profile has */
export function demandFreeName(path: string, name: string): void {
  const own = summarize(path)
  for (const other of listTranscripts(dirname(path))) {
    if (other.id === own?.id) continue
    if (other.id === name) throw new Failure('usage', `"${name}" is the ID of another session`)
    if (other.name === name && other.profile === own?.profile)
      throw new Failure('usage', `Session ${other.id} already has the name "${name}"`)
  }
}

/** Maximum number of sessions that an error names. */
const maxNamed = 5

/**
 * Finds the transcript of a session.
 * @param wanted an ID, a given name, an automatic name, or an unambiguous prefix of an ID, with or without the
 * leading `s`, in this order
 * @param profile the ID of the profile whose names are meant (default: all)
 * @returns its path
 * @throws Failure `not_found`; `usage` if several match, and the message names them
 */
export function findTranscript(directory: string, wanted: string, profile?: string): string {
  const paths = transcriptPaths(directory)
  const exact = join(directory, `${wanted}${extension}`)
  if (paths.includes(exact)) return exact
  const isNamed = (one: TranscriptSummary) => one.name === wanted && (profile ?? one.profile) === one.profile
  const named = listTranscripts(directory, undefined, { isWanted: isNamed })
  const isMeant = (path: string) =>
    wanted !== '' && [wanted, `s${wanted}`].some((prefix) => sessionIdOf(path).startsWith(prefix))
  const given = named.filter(({ isNamed }) => isNamed)
  const withName = (given.length > 0 ? given : named).map(({ path }) => path)
  const found = withName.length > 0 ? withName : paths.filter(isMeant)
  const [only, ...others] = found
  if (only === undefined) {
    throw new Failure('not_found', `No session "${wanted}" on this machine`, {
      hint: 'List all sessions with: chatctl chat sessions --all',
    })
  }
  if (others.length === 0) return only
  const ids = found.map(sessionIdOf).sort().reverse()
  const rest = ids.length > maxNamed ? ` and ${ids.length - maxNamed} more` : ''
  throw new Failure('usage', `"${wanted}" is ambiguous: ${ids.slice(0, maxNamed).join(', ')}${rest}`, {
    hint: 'Use an ID, or a longer part of it. List all sessions with: chatctl chat sessions --all',
  })
}
