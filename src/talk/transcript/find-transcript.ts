import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { listTranscripts, transcriptPaths } from './list-transcripts.ts'
import { extension, sessionIdOf } from './session-id.ts'

/** Sessions that an error names at most. */
const enough = 5

/**
 * The path of the transcript that a person means.
 *
 * @param wanted an id, a name, or how no other id begins, with the `s` or without it
 * @throws Failure `not_found`; `usage` where several could be meant, and it names them
 */
export function findTranscript(directory: string, wanted: string): string {
  const paths = transcriptPaths(directory)
  const exact = join(directory, `${wanted}${extension}`)
  if (paths.includes(exact)) return exact
  const named = listTranscripts(directory).filter(({ name }) => name === wanted)
  const found = named.length > 0 ? named.map(({ path }) => path) : paths.filter(beginsWith(wanted))
  const [only, ...others] = found
  if (only === undefined) {
    throw new Failure('not_found', `No session "${wanted}" on this machine`, {
      advice: [{ code: 'list_all_sessions' }],
    })
  }
  if (others.length === 0) return only
  const ids = found.map(sessionIdOf).sort().reverse()
  const rest = ids.length > enough ? ` and ${ids.length - enough} more` : ''
  throw new Failure('usage', `"${wanted}" is ambiguous: ${ids.slice(0, enough).join(', ')}${rest}`, {
    advice: [{ code: 'longer_session_id' }],
  })
}

function beginsWith(wanted: string): (path: string) => boolean {
  return (path) => {
    const id = sessionIdOf(path)
    return wanted !== '' && (id.startsWith(wanted) || id.startsWith(`s${wanted}`))
  }
}
