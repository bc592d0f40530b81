import type { Context } from '../../cli/context/context.ts'
import type { SearchFilters } from '../../history/message-database.ts'
import type { SearchReport } from '../../history/search-messages.ts'

const noFilters = { since: undefined, role: undefined, contextId: undefined }

/**
 * Searches the mirror and the sessions of the service and profile in use.
 * @param confirm about the mirror of another user (default: asks in a terminal)
 */
export async function searchHistory(
  { directories, contextOwner, knownUser, confirm: ask }: Context,
  words: string,
  filters: SearchFilters = noFilters,
  limit = 20,
  confirm = ask,
): Promise<SearchReport> {
  const { transcriptFiles } = await import('../../chat/transcript/transcript-files.ts')
  const { searchMessages } = await import('../../history/search-messages.ts')
  const loadReader = async () => (await import('../../chat/transcript/read-transcript.ts')).readMessages
  const transcripts = { files: transcriptFiles(directories.sessions), loadReader }
  const run = { knownUser, confirm }
  return searchMessages({ run, directories, owner: contextOwner(), words, filters, limit, transcripts })
}
