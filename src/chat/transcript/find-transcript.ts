import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { listTranscripts } from './list-transcripts.ts'
import { extension, sessionIdOf } from './session-id.ts'
import { transcriptPaths } from './transcript-files.ts'

/** Maximum number of sessions that an error names. */
const maxNamed = 5

/**
 * Finds the transcript of a session.
 *
 * @param wanted an ID, a name, or an unambiguous prefix of an ID, with or without the leading `s`
 * @returns its path
 * @throws Failure `not_found`; `usage` if several match, and the message names them
 */
export function findTranscript(directory: string, wanted: string): string {
  const paths = transcriptPaths(directory)
  const exact = join(directory, `${wanted}${extension}`)
  if (paths.includes(exact)) return exact
  const named = listTranscripts(directory, undefined, {
    containing: '{"type":"name"',
    isWanted: ({ name }) => name === wanted,
  })
  const found = named.length > 0 ? named.map(({ path }) => path) : paths.filter(beginsWith(wanted))
  const [only, ...others] = found
  if (only === undefined) {
    throw new Failure('not_found', `No session "${wanted}" on this machine`, {
      advice: [{ code: 'list_all_sessions' }],
    })
  }
  if (others.length === 0) return only
  const ids = found.map(sessionIdOf).sort().reverse()
  const rest = ids.length > maxNamed ? ` and ${ids.length - maxNamed} more` : ''
  throw new Failure('usage', `"${wanted}" is ambiguous: ${ids.slice(0, maxNamed).join(', ')}${rest}`, {
    advice: [{ code: 'longer_session_id' }],
  })
}

function beginsWith(wanted: string): (path: string) => boolean {
  return (path) => {
    const id = sessionIdOf(path)
    return wanted !== '' && (id.startsWith(wanted) || id.startsWith(`s${wanted}`))
  }
}
