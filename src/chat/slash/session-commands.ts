import { extname } from 'node:path'
import type { ContextOwner } from '../../config/last-context.ts'
import { Failure } from '../../contract/failure.ts'
import { truncateToWidth } from '../../terminal/editor/graphemes.ts'
import type { Session } from '../session.ts'
import { listTranscripts } from '../transcript/list-transcripts.ts'
import { readTranscript } from '../transcript/read-transcript.ts'
import { renderTranscript, type TranscriptFormat } from '../transcript/render-transcript.ts'
import { saveText } from './save-text.ts'
import type { SlashCommand } from './slash-command.ts'

/** Commands for the session itself. */
export const sessionCommands: readonly SlashCommand[] = [
  {
    name: 'name',
    argument: 'NAME',
    summary: 'Name this session',
    run: (session, name) => {
      if (name === '')
        throw new Failure('usage', 'Missing name', { hint: 'For example: /name Release notes' })
      demandPath(session)
      session.recorder.name(name)
      session.output.note(`The session is now named "${name}"`)
    },
  },
  {
    name: 'search',
    argument: 'WORDS',
    summary: 'Search the sessions with this service and profile',
    run: (session, words) => {
      if (words === '')
        throw new Failure('usage', 'Missing search text', { hint: 'For example: /search write-ahead log' })
      const { sessionsDirectory, owner } = session.options
      const found = searchTranscripts(sessionsDirectory, owner, words, session.screen.columns)
      session.output.show(found.length === 0 ? `No matches for "${words}".` : found.join('\n'))
    },
  },
  {
    name: 'export',
    argument: 'FILE',
    summary: 'Save this session to a new file: .md, .txt, .json, or .jsonl',
    takesPath: true,
    run: async (session, path) => {
      if (session.recorder.turns === 0) throw new Failure('usage', 'The session has no messages yet')
      const transcript = readTranscript(demandPath(session))
      const parts = renderTranscript(transcript, formatOf(path), session.showsReasoning)
      session.output.note(`Saved to ${await saveText(path, [...parts].join(''), session.options)}`)
    },
  },
  {
    name: 'editor',
    summary: 'Write the next message in your editor (Ctrl-G)',
    run: (session) => session.openExternalEditor(),
  },
  { name: 'info', summary: 'Show the service, model, and parameters in use', run: showInfo },
  { name: 'clear', summary: 'Clear the screen', run: (session) => session.screen.clear() },
  {
    name: 'quit',
    alias: 'exit',
    summary: 'Leave the session (Ctrl-D)',
    run: (session) => session.keyboard.leave(),
  },
]

/** @throws Failure `usage` if the session is not recorded */
function demandPath({ recorder: { path } }: Session): string {
  if (path !== undefined) return path
  throw new Failure('usage', 'This session is not recorded, so it cannot be named or exported')
}

const formatsByExtension: Record<string, TranscriptFormat> = {
  '.md': 'markdown',
  '.txt': 'text',
  '.json': 'json',
  '.jsonl': 'jsonl',
}

function formatOf(path: string): TranscriptFormat {
  if (path === '')
    throw new Failure('usage', 'Missing file name', { hint: 'For example: /export session.md' })
  const form = formatsByExtension[extname(path).toLowerCase()]
  if (form) return form
  throw new Failure('usage', `Unknown file extension of "${path}"`, {
    hint: `Use one of: ${Object.keys(formatsByExtension).join(', ')}`,
  })
}

function showInfo(session: Session): void {
  const { conversation, options, recorder, models } = session
  const { system, temperature, maxTokens } = conversation.parameters
  const storedHere = `stored on this machine${session.streamsCompletions === false ? ', not streamed' : ''}`
  const facts: [string, string | number | undefined][] = [
    ['service', options.serviceName],
    ['profile', options.profile],
    ['session', recorder.id],
    ['turns', countTurns(recorder)],
    ['conversation', conversation.mode === 'context' ? 'stored by the service' : storedHere],
    ['context', conversation.contextId],
    ['model', conversation.model ?? conversation.replyModel ?? models.standard ?? 'default of the service'],
    ['system', system],
    ['temperature', temperature],
    ['max_tokens', maxTokens],
    ['reasoning', session.showsReasoning ? 'shown' : 'hidden'],
    [
      'transcript',
      recorder.path === undefined ? 'not recorded' : recorder.turns === 0 ? undefined : recorder.path,
    ],
  ]
  const known = facts.filter(([, value]) => value !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  session.output.show(known.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n'))
}

function countTurns({ turns, path }: Session['recorder']): string {
  const recorded = path === undefined || turns === 0 ? [] : readTranscript(path).turns
  const failed = recorded.filter(({ reply }) => reply === '').length
  return failed === 0 ? `${turns}` : `${turns}, ${failed} of them without a reply`
}

/** Maximum number of matches that a search shows. */
const maxMatches = 30

/** Characters that are shown before a match. */
const lead = 20

/**
 * Finds turns that contain a text, ignoring case. Returns one line for each, newest first: session,
 * turn, and the text around the match.
 */
function searchTranscripts(directory: string, owner: ContextOwner, words: string, columns: number): string[] {
  const wanted = words.toLowerCase()
  const found: string[] = []
  for (const { id, path } of listTranscripts(directory, owner)) {
    for (const { number, user, reply } of readTranscript(path).turns.toReversed()) {
      const text = [user, reply].find((message) => message.toLowerCase().includes(wanted))
      if (text === undefined) continue
      if (found.length === maxMatches) return [...found, '… and more']
      found.push(truncateToWidth(`${id} turn ${number}: ${excerpt(text, wanted)}`, columns).text)
    }
  }
  return found
}

function excerpt(text: string, wanted: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  const from = Math.max(0, line.toLowerCase().indexOf(wanted) - lead)
  return `${from > 0 ? '…' : ''}${line.slice(from)}`
}
