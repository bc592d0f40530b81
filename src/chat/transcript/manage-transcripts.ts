import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { forgetLastContexts } from '../../config/last-context.ts'
import type { Directories } from '../../system/files/directories.ts'
import { syncDirectory } from '../../system/files/replace-file.ts'
import { summarize } from './list-transcripts.ts'
import { readMessages } from './read-transcript.ts'
import { withStorageErrors } from './transcript-files.ts'
import { lockTranscript, TranscriptWriter } from './transcript-writer.ts'

/**
 * Locks transcripts, all or none. No other process can open them until they are released.
 * @throws Failure `conflict` if another process has one of them open; `storage`, also of `delete`
 */
export function lockTranscripts(paths: readonly string[]) {
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
    /**
     * First, it deletes the pointer with which --continue would find the conversation.
     * @returns the failure, if only the pointer cannot be deleted
     */
    delete: async (path: string, directories: Directories) => {
      const { messages } = (summarize(path) && readMessages(path)) ?? { messages: [] }
      const ids = messages.flatMap(({ contextId = [] }) => contextId)
      const remembered = await forgetLastContexts(directories, [...new Set(ids)])
      withStorageErrors(path, 'written', () => rmSync(path))
      syncDirectory(dirname(path))
      return remembered
    },
    release,
  }
}

/**
 * Names a session.
 * @throws Failure `conflict` if another process has it open; `storage`
 */
export function renameTranscript(path: string, name: string): void {
  const writer = TranscriptWriter.reopen(path)
  try {
    writer.annotate([{ type: 'name', name }])
  } finally {
    writer.close()
  }
}
