import type { SessionList } from '../../chat/session-options.ts'
import type { ListOptions } from '../../chat/transcript/list-transcripts.ts'
import type { Context } from '../../cli/context/context.ts'
import { Interruption } from '../../cli/context/interruption.ts'
import { profileId } from '../../config/configuration-file.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { orElse } from '../../contract/or-else.ts'
import { splitFiles } from '../../contract/resources/file-block.ts'
import type { ReadMessages, TranscriptIndex } from '../../history/transcript-index.ts'
import type { Directories } from '../../system/files/directories.ts'
import { oneLine } from '../../terminal/strip-controls.ts'
import { localTime } from '../../view/format/quantities.ts'
import { openTranscripts } from '../history/search-history.ts'

/**
 * Runs work with the list of sessions. No key reads the transcripts again: the index of the search finds words.
 * @param selection as of `listTranscripts`; `owner` is the service and profile (default: all)
 */
export async function withSessionList<T>(
  directories: Directories,
  selection: ListOptions & { owner?: ContextOwner | undefined },
  work: (list: SessionList) => Promise<T>,
): Promise<T> {
  const { listTranscripts } = await import('../../chat/transcript/list-transcripts.ts')
  // Its regular expressions for emoji take longer than the rest of `chat send`.
  const { truncateToWidth } = await import('../../terminal/editor/graphemes.ts')
  const sessions = listTranscripts(directories.sessions, selection.owner, selection)
  const widest = Math.max(0, ...sessions.map(({ name = '' }) => truncateToWidth(name, Infinity).width))
  const { readMessages } = await import('../../chat/transcript/read-transcript.ts')
  /** By their paths. Only those of rows that are shown are read, once. */
  const lastMessages = new Map<string, string>()
  let index: Promise<TranscriptIndex> | undefined
  /** The IDs of the sessions with a message in which a word begins so. */
  const search = async (word: string) => {
    const { SearchQuery } = await import('../../history/search-query.ts')
    const query = new SearchQuery(`${word}*`)
    index ??= openIndex(directories)
    return (await index).sessionsWith(query)
  }
  const list: SessionList = {
    find: async (typed) => {
      let found = sessions
      for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
        // It fails without a letter or digit, or if the index cannot be read.
        const ids = await search(word).catch(() => new Set())
        found = found.filter(
          ({ id, name = '', firstMessage = '' }) =>
            ids.has(id) || id.startsWith(word) || `${name}\n${firstMessage}`.toLowerCase().includes(word),
        )
      }
      return found
    },
    row: ({ path, updatedAt, name = '' }, columns) => {
      const time = (localTime(updatedAt) ?? '').slice(columns < 60 ? '2026-'.length : 0)
      const room = columns - time.length - 4
      if (room < 16) return truncateToWidth(name, columns).text
      const nameRoom = Math.min(widest, Math.floor(room / 2))
      const { text, width } = truncateToWidth(name, nameRoom)
      const message = lastMessages.get(path) ?? lastMessageOf(path, readMessages)
      lastMessages.set(path, message)
      const last = truncateToWidth(message, room - nameRoom).text
      return `${time}  ${text}${' '.repeat(nameRoom - width)}  ${last}`.trimEnd()
    },
  }
  try {
    return await work(list)
  } finally {
    const opened = await index?.catch(() => undefined)
    opened?.close()
  }
}

/** The last reply or prompt, for one row. */
function lastMessageOf(path: string, read: ReadMessages): string {
  return orElse(() => oneLine(splitFiles(read(path).messages.at(-1)?.text ?? '').text, 200), '')
}

async function openIndex(directories: Directories): Promise<TranscriptIndex> {
  const { mirrorsDirectory } = await import('../../history/mirror.ts')
  const { TranscriptIndex } = await import('../../history/transcript-index.ts')
  return TranscriptIndex.open(mirrorsDirectory(directories), await openTranscripts({ directories }))
}

/** The path of a session by its ID or name, which `--profile` limits to a profile. @throws as `findTranscript` */
export async function findSession({ configuration, directories, options }: Context, wanted: string) {
  const { findTranscript } = await import('../../chat/transcript/list-transcripts.ts')
  const { value: profile, source } = options.profile
  const id = source === 'flag' && profile !== undefined ? profileId(configuration, profile) : undefined
  return findTranscript(directories.sessions, wanted, id)
}

/**
 * Lets the user choose a session of the service and profile in use.
 * @returns the path of its transcript
 * @throws Interruption if the user leaves; Failure `usage` if there is no session, `input_needed`
 */
export async function chooseSession(context: Context, question = 'Session to resume:', instead?: string) {
  const { prompter, directories } = context
  const picked = await withSessionList(directories, { owner: context.contextOwner() }, async (list) => {
    if (!prompter.canAsk || (await list.find('')).length > 0) return prompter.pick(question, list, instead)
    throw new Failure('usage', 'There are no sessions with this service and profile', {
      hint: 'List all sessions with: chatctl chat sessions --all',
    })
  })
  if (!picked) throw new Interruption('SIGINT')
  return picked.path
}
