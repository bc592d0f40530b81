import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file in one step, for its owner alone (0600): a reader sees the old content or the new
 * content, never a part of either. A symbolic link at the path is replaced, not followed.
 *
 * @param flush whether the new content must outlast a failure of the machine
 * @throws the system's error; the old content is still there then
 */
export function replaceFile(path: string, content: string | Uint8Array, { flush }: { flush: boolean }): void {
  const temporary = temporaryPath(path)
  // Exclusive: nothing is written to a link or a file that somebody else laid there.
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    try {
      writeFileSync(descriptor, content)
      if (flush) fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
  if (flush) syncDirectory(dirname(path))
}

/**
 * A name in the directory of a file for its next content. No two writers have the same one, even
 * where two containers that share a directory have given them the same process id.
 */
export function temporaryPath(path: string): string {
  const random = Math.random().toString(36).slice(2, 10)
  return join(dirname(path), `.${basename(path)}.${process.pid}-${random}.part`)
}

/** Renames a flushed file, and flushes the entry of its directory. */
export function moveIntoPlace(temporary: string, path: string): void {
  renameSync(temporary, path)
  syncDirectory(dirname(path))
}

/**
 * Removes what writers that were killed have left beside a file.
 *
 * @param pid of the writer (default: all)
 */
export function removeLeftovers(path: string, pid?: number): void {
  const start = `.${basename(path)}.`
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(start)) continue
    const [, writer] = /^(\d+)-\w+\.part$/.exec(name.slice(start.length)) ?? []
    if (writer === undefined || (pid !== undefined && Number(writer) !== pid)) continue
    rmSync(join(dirname(path), name), { force: true })
  }
}

/** A new or renamed file outlasts a failure of the machine only when the entry of its directory does. */
export function syncDirectory(directory: string): void {
  let descriptor: number | undefined
  try {
    descriptor = openSync(directory, 'r')
    fsyncSync(descriptor)
  } catch {
    // Windows opens no directories, and some file systems flush none.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The first error is the one that matters.
  }
}
