import type { Context } from '../../cli/context/context.ts'
import type { Search, SearchReport } from '../../history/search-messages.ts'
import type { Transcripts } from '../../history/transcript-index.ts'
import { demandUser } from '../../run/demand-user.ts'

const everything = { filters: { since: undefined, role: undefined, contextId: undefined }, limit: 20 }

/** Searches the mirror and the sessions of the service and profile in use. */
export async function searchHistory(
  context: Pick<Context, 'confirm' | 'contextOwner' | 'directories' | 'knownUser'>,
  search: Pick<Search, 'words'> & Partial<Search>,
): Promise<SearchReport> {
  const { searchMessages } = await import('../../history/search-messages.ts')
  const report = await searchMessages(context, { ...everything, ...search }, await openTranscripts(context))
  await demandOwnSessions(context, report.users, context.knownUser())
  return report
}

/** The transcripts of this machine, for their index. */
export async function openTranscripts({ directories }: Pick<Context, 'directories'>): Promise<Transcripts> {
  const { transcriptFiles } = await import('../../chat/transcript/transcript-files.ts')
  const loadReader = async () => (await import('../../chat/transcript/read-transcript.ts')).readMessages
  return { files: transcriptFiles(directories.sessions), loadReader }
}

/**
 * Refuses sessions of other users, or asks in a terminal.
 * @param owners the users of the sessions, as far as they are known
 * @param user that of the credential in use
 */
export async function demandOwnSessions(
  context: Pick<Context, 'confirm'>,
  owners: Iterable<string>,
  user: string | undefined,
): Promise<void> {
  const hint = 'Use the profile of that user, or delete the sessions with: chatctl chat delete'
  for (const owner of owners) {
    const owned = { subject: 'A session with this service and profile', owner, user }
    await demandUser(context, { ...owned, question: 'Continue with the sessions of both?', hint })
  }
}
