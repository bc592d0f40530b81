import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../../system/files/replace-file.ts'
import { withStorageErrors } from './storage-errors.ts'
import { lockTranscript } from './transcript-writer.ts'

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
