import type { Context } from '../../cli/context/context.ts'
import type { Search, SearchReport } from '../../history/search-messages.ts'
import type { Transcripts } from '../../history/transcript-index.ts'

const everything = { filters: { since: undefined, role: undefined, contextId: undefined }, limit: 20 }

/** Searches the mirror and the sessions of the service and profile in use. */
export async function searchHistory(
  context: Pick<Context, 'confirm' | 'contextOwner' | 'directories' | 'knownUser'>,
  search: Pick<Search, 'words'> & Partial<Search>,
): Promise<SearchReport> {
  const { searchMessages } = await import('../../history/search-messages.ts')
  return searchMessages(context, { ...everything, ...search }, await openTranscripts(context))
}

/** The transcripts of this machine, for their index. */
export async function openTranscripts({ directories }: Pick<Context, 'directories'>): Promise<Transcripts> {
  const { transcriptFiles } = await import('../../chat/transcript/transcript-files.ts')
  const loadReader = async () => (await import('../../chat/transcript/read-transcript.ts')).readMessages
  return { files: transcriptFiles(directories.sessions), loadReader }
}
