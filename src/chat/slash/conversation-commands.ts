import { readLastContext } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { type RemoteMessage, toMessages } from '../conversation.ts'
import type { ConversationStart } from '../conversation-start.ts'
import { joinMessages } from '../earlier-messages.ts'
import type { Session, SlashCommand } from '../session.ts'
import type { SessionList } from '../session-options.ts'
import { findTranscript, listTranscripts } from '../transcript/list-transcripts.ts'
import type { SaidMessage, TranscriptSummary } from '../transcript/transcript.ts'

/** Number of messages that /history shows by default. */
const defaultLength = 10

/** Commands that start, find, and show conversations. */
export const conversationCommands: readonly SlashCommand[] = [
  {
    name: 'new',
    summary: 'Start a new session',
    run: async (session) => {
      const { model } = session.conversation
      const { id, turns } = session.recorder
      await begin(session, { kind: 'new' })
      session.conversation.model = model ?? session.conversation.model
      session.recorder.options(session.conversation)
      const before = turns > 0 && id !== undefined ? ` Resume the previous one with: /resume ${id}` : ''
      session.output.note(`New session, without a system message or parameters.${before}`)
    },
  },
  {
    name: 'resume',
    argument: '[SESSION|CONVERSATION]',
    summary: 'Resume an earlier session (default: choose one)',
    candidates: findSessions,
    run: async (session, wanted) => {
      const beginning = wanted === '' ? await chooseSession(session) : startOf(session, wanted)
      if (beginning) await begin(session, beginning)
    },
  },
  {
    name: 'fork',
    argument: '[N]',
    summary: 'Continue in a copy of this session, up to message N (see /history)',
    run: (session, through) => begin(session, sourceOf(session), through || true),
  },
  {
    name: 'history',
    argument: '[N]',
    summary: 'Show the last N messages (default: 10)',
    run: showHistory,
  },
]

async function begin(session: Session, beginning: ConversationStart, fork?: string | true): Promise<void> {
  await session.stoppable(async (signal) => {
    const opened = await session.begin(beginning, signal, fork)
    opened.show(session.output)
  })
}

/** Where a fork of the session finds its messages: in memory if it has no transcript. */
function sourceOf({ recorder: { path, turns } }: Session): ConversationStart {
  return path === undefined || turns === 0 ? { kind: 'new' } : { kind: 'transcript', path }
}

/** Undefined if the user leaves. */
function chooseSession({ options, recorder, screen }: Session): Promise<ConversationStart | undefined> {
  return options.withSessionList(recorder.id, async (list) => {
    if (options.isPlain || (await list.find('')).length === 0) {
      throw new Failure('usage', options.isPlain ? 'Missing session' : 'There are no earlier sessions', {
        hint: 'Tab after /resume lists the sessions with this service and profile.',
      })
    }
    screen.show(undefined)
    const picked = await options.terminal.lend(() => options.pickSession(list))
    return picked && { kind: 'transcript', path: picked.path }
  })
}

/** The sessions that Tab finds, by the ID of the session, or of the conversation if it begins so. */
function findSessions({ options, recorder, screen }: Session, typed: string): Promise<Map<string, string>> {
  return options.withSessionList(recorder.id, async (list) => {
    const found = new Map((await list.find(typed)).map((one) => describe(one, one.id, list, screen.columns)))
    for (const one of typed === '' ? [] : (await list.find('')).toReversed())
      if (one.contextId?.startsWith(typed)) found.set(...describe(one, one.contextId, list, screen.columns))
    return found
  })
}

function describe(one: TranscriptSummary, id: string, list: SessionList, columns: number): [string, string] {
  return [id, list.row(one, columns - id.length - 3)]
}

function startOf({ options: { run } }: Session, wanted: string) {
  const { directories } = run
  const owner = run.contextOwner()
  const isWanted = ({ contextId }: TranscriptSummary) => contextId === wanted
  const isContext =
    wanted === readLastContext(directories, owner)?.id ||
    listTranscripts(directories.sessions, owner, { limit: 1, isWanted }).length > 0
  if (isContext) return { kind: 'context', id: wanted } as const
  return { kind: 'transcript', path: findTranscript(directories.sessions, wanted) } as const
}

async function showHistory(session: Session, argument: string): Promise<void> {
  const length = argument === '' ? defaultLength : Number(argument)
  if (!Number.isSafeInteger(length) || length < 1) {
    throw new Failure('usage', `Invalid number of messages "${argument}"`, {
      hint: 'For example: /history 20',
    })
  }
  const { contextId, mode, messages } = session.conversation
  if (mode === 'completions') return showMessages(session, messages.slice(-length), 'stored on this machine')
  if (contextId === undefined) throw new Failure('usage', 'This conversation has no history yet')
  await session.stoppable(async (signal) => {
    session.status.begin('reading the history…')
    const found: RemoteMessage[] = []
    const pages = session.client.history.pages({ context_id: contextId, limit: length }, { signal })
    for await (const page of pages) {
      found.unshift(...page.messages.flatMap(toMessages))
      if (found.length >= length) break
    }
    session.status.clear()
    const joined = joinMessages(messages, found, true).filter(({ difference }) => difference !== 'here')
    const shown = joined.slice(-length).map(({ message }) => message)
    showMessages(session, shown, `conversation ${contextId}`)
  })
}

function showMessages(session: Session, messages: readonly SaidMessage[], source: string): void {
  session.output.note(`Last ${messages.length === 1 ? 'message' : `${messages.length} messages`} (${source})`)
  for (const { role, content, turn } of messages) {
    if (role === 'assistant') session.output.showReply(content)
    // Messages from elsewhere have no number, which /fork takes.
    else session.output.showPrompt(role === 'system' ? `(system) ${content}` : content, turn?.number)
  }
  session.screen.separate()
}
