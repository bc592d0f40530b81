import { statSync, utimesSync } from 'node:fs'
import { readHeadAndTail } from './read-transcript.ts'
import { withStorageErrors } from './storage-errors.ts'
import { TranscriptWriter } from './transcript-writer.ts'

/**
 * Names a session. The time of its last use stays, because lists are in that order.
 *
 * @throws Failure `conflict` if another process has it open; `storage`
 */
export function renameTranscript(path: string, name: string): void {
  const writer = TranscriptWriter.reopen(path, readHeadAndTail(path))
  try {
    const { atime, mtime } = statSync(path)
    writer.append({ type: 'name', name })
    writer.sync()
    withStorageErrors(path, 'written', () => utimesSync(path, atime, mtime))
  } finally {
    writer.close()
  }
}
