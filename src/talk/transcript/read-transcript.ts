import { readFileSync } from 'node:fs'
import { foldLines } from './fold-lines.ts'
import { sessionIdOf } from './session-id.ts'
import { withStorage } from './storage.ts'
import type { Transcript } from './transcript.ts'
import { readLine } from './transcript-line.ts'

/**
 * Reads a transcript. A torn last line, and lines of types that this version does not know, are
 * left out.
 *
 * @throws Failure `not_found`; `storage` where it cannot be read or a later version wrote it
 */
export function readTranscript(path: string): Transcript {
  const text = withStorage(path, 'read', () => readFileSync(path, 'utf8'))
  return foldLines(sessionIdOf(path), readLines(text))
}

function* readLines(text: string) {
  for (const part of text.split('\n')) {
    const line = part === '' ? undefined : readLine(part)
    if (line) yield line
  }
}
