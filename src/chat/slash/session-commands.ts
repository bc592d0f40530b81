import { extname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { truncateToWidth } from '../../terminal/editor/graphemes.ts'
import { localTime } from '../../view/format/quantities.ts'
import { describeTokens } from '../reply/tokens.ts'
import type { Session, SlashCommand } from '../session.ts'
import { demandFreeName } from '../transcript/list-transcripts.ts'
import { readTranscript } from '../transcript/read-transcript.ts'
import { renderTranscript, type TranscriptFormat } from '../transcript/render-transcript.ts'
import { cleanName, nameOf, type Transcript } from '../transcript/transcript.ts'
import { saveText } from './copy-and-save.ts'

export const sessionCommands: readonly SlashCommand[] = [
  {
    name: 'name',
    argument: 'NAME',
    summary: 'Name this session',
    run: (session, typed) => {
      const name = cleanName(typed)
      if (name === '')
        throw new Failure('usage', 'Missing name', { hint: 'For example: /name Release notes' })
      demandFreeName(demandPath(session), name)
      session.recorder.record({ type: 'name', name }, true)
      session.output.note(`The session is now named "${name}"`)
    },
  },
  {
    name: 'search',
    argument: 'WORDS',
    summary: 'Search the messages with this service and profile, as history search does',
    run: async (session, words) => {
      if (words === '')
        throw new Failure('usage', 'Missing search text', { hint: 'For example: /search write-ahead log' })
      const { results, hasMore } = await session.options.search(words)
      const lines = results.map(({ time, role, session_id, context_id, snippet }) => {
        const place = session_id ?? context_id ?? ''
        return truncateToWidth(
          [place, time === null ? '' : localTime(time), `${role ?? ''}: ${snippet}`]
            .filter(Boolean)
            .join('  '),
          session.screen.columns,
        ).text
      })
      if (hasMore) lines.push('… and more')
      session.output.show(lines.length === 0 ? `No matches for "${words}".` : lines.join('\n'))
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
      const { showsReasoning, options } = session
      const parts = renderTranscript(transcript, formatOf(path), options.run.profileNameOf, showsReasoning)
      session.output.note(`Saved to ${await saveText(path, [...parts].join(''), options.run)}`)
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
  const isWritten = recorder.path !== undefined && recorder.turns > 0
  const transcript = isWritten ? readTranscript(recorder.path) : undefined
  const storedHere = `stored on this machine${session.streamsCompletions === false ? ', not streamed' : ''}`
  const tokens = describeTokens(conversation)
  const facts: [string, string | number | undefined][] = [
    ['service', options.serviceName],
    ['profile', options.profile],
    ['session', recorder.id],
    ['name', transcript && nameOf(transcript)],
    ['fork of', conversation.forkedFrom],
    ['turns', countTurns(recorder.turns, transcript)],
    ['conversation', conversation.mode === 'context' ? 'stored by the service' : storedHere],
    ['conversation ID', conversation.contextId],
    ['model', conversation.model ?? conversation.replyModel ?? models.standard ?? 'default of the service'],
    ['tokens', tokens?.includes('~') ? `${tokens} (~: estimated from the text)` : tokens],
    ['system', system],
    ['temperature', temperature],
    ['max_tokens', maxTokens],
    ['reasoning', session.showsReasoning ? 'shown' : 'hidden'],
    ['transcript', recorder.path === undefined ? 'not recorded' : transcript && recorder.path],
  ]
  const known = facts.filter(([, value]) => value !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  session.output.show(known.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n'))
}

function countTurns(turns: number, transcript: Transcript | undefined): string {
  const failed = transcript?.turns.filter(({ reply }) => reply === '').length ?? 0
  return failed === 0 ? `${turns}` : `${turns}, ${failed} of them without a reply`
}
