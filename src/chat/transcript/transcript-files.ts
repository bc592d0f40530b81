import { readdirSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { extension } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'

/** The paths of all transcripts in a directory. Empty if the directory does not exist. */
export function transcriptPaths(directory: string): string[] {
  // Not `join`, which normalizes every path.
  return transcriptNames(directory).map((name) => directory + sep + name)
}

/** The transcripts in a directory, as they are on disk now. */
export function transcriptFiles(directory: string) {
  return transcriptNames(directory).flatMap((name) => {
    const path = directory + sep + name
    const found = statSync(path, { throwIfNoEntry: false })
    // Not `sessionIdOf`, which searches the whole path.
    const id = name.slice(0, -extension.length)
    return found ? [{ id, path, size: found.size, modifiedAt: found.mtimeMs }] : []
  })
}

function transcriptNames(directory: string): string[] {
  return withStorageErrors(directory, 'read', () => {
    try {
      return readdirSync(directory).filter((name) => name.endsWith(extension) && name !== extension)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
}
