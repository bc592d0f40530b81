import { readdirSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { extension, sessionIdOf } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'

/** The paths of all transcripts in a directory. Empty if the directory does not exist. */
export function transcriptPaths(directory: string): string[] {
  return withStorageErrors(directory, 'read', () => {
    try {
      const names = readdirSync(directory).filter((name) => name.endsWith(extension))
      // Not `join`, which normalizes every path.
      return names.map((name) => directory + sep + name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
}

/** The transcripts in a directory, as they are on disk now. */
export function transcriptFiles(directory: string) {
  return transcriptPaths(directory).flatMap((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? [{ id: sessionIdOf(path), path, size: found.size, modifiedAt: found.mtimeMs }] : []
  })
}
