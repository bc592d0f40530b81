import { rmSync, statSync, utimesSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../../system/files/replace-file.ts'
import { withStorageErrors } from './transcript-files.ts'
import { lockTranscript, TranscriptWriter } from './transcript-writer.ts'

/** Transcripts that no other process can open until they are released. */
export interface LockedTranscripts {
  /** Deletes one of them. @throws Failure `storage` */
  delete(path: string): void
  release(): void
}

/**
 * Locks transcripts, all or none.
 *
 * @throws Failure `conflict` if another process has one of them open; `storage`
 */
export function lockTranscripts(paths: readonly string[]): LockedTranscripts {
  const releases: (() => void)[] = []
  const release = (): void => {
    for (const one of releases.splice(0)) one()
  }
  try {
    for (const path of paths) releases.push(withStorageErrors(path, 'written', () => lockTranscript(path)))
  } catch (error) {
    release()
    throw error
  }
  return {
    delete: (path) => {
      withStorageErrors(path, 'written', () => rmSync(path))
      syncDirectory(dirname(path))
    },
    release,
  }
}

/**
 * Names a session. The time of its last use stays, because lists are in that order.
 *
 * @throws Failure `conflict` if another process has it open; `storage`
 */
export function renameTranscript(path: string, name: string): void {
  const writer = TranscriptWriter.reopen(path)
  try {
    const { atime, mtime } = statSync(path)
    writer.append({ type: 'name', name })
    writer.sync()
    withStorageErrors(path, 'written', () => utimesSync(path, atime, mtime))
  } finally {
    writer.close()
  }
}
