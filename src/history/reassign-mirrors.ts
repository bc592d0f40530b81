import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import type { Directories } from '../system/files/directories.ts'
import { moveIntoPlace, temporaryPath } from '../system/files/replace-file.ts'
import { isDamaged, loadSqlite } from '../system/sqlite.ts'
import { newestFile } from './message-database.ts'
import { lockMirror, type MirrorOwner, mirrorsDirectory, nameOf } from './mirror-file.ts'
import { storageError } from './storage-error.ts'

/**
 * Gives all mirrors of a profile to another profile. A damaged mirror stays as it is.
 *
 * @returns how many there were
 * @throws Failure `conflict` if another process syncs one of them; `storage`
 */
export function reassignMirrors(directories: Directories, from: string, to: string): number {
  const directory = mirrorsDirectory(directories)
  const owners = mirrorNames(directory)
    .map((name) => ownerIn(newestFile(directory, name).path))
    .filter((owner) => owner?.profile === from)
  for (const owner of owners) if (owner) reassign(directory, owner, { ...owner, profile: to })
  return owners.length
}

/**
 * The mirror is copied and not renamed: another process may have it open, and would remove the log of the file
 * that has its name when it closes it (https://sqlite.org/howtocorrupt.html, section 4).
 */
function reassign(directory: string, from: MirrorOwner, to: MirrorOwner): void {
  const release = lockMirror(directory, nameOf(from))
  const { path } = newestFile(directory, nameOf(from))
  const { path: newest, next, exists } = newestFile(directory, nameOf(to))
  const target = exists ? next : newest
  const temporary = temporaryPath(target)
  try {
    copyDatabase(path, temporary, to)
    moveIntoPlace(temporary, target)
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  } catch (error) {
    rmSync(temporary, { force: true })
    if (!isDamaged(error)) throw storageError(path, error)
  } finally {
    release()
  }
}

function copyDatabase(path: string, copy: string, { profile }: MirrorOwner): void {
  const { DatabaseSync } = loadSqlite()
  // SQLite would create it with a wider mode.
  closeSync(openSync(copy, 'wx', 0o600))
  const database = new DatabaseSync(path)
  try {
    database.prepare('vacuum into ?').run(copy)
  } finally {
    database.close()
  }
  const copied = new DatabaseSync(copy)
  try {
    copied.exec('pragma journal_mode = wal')
    copied.prepare('update owner set profile = ?').run(profile)
  } finally {
    copied.close()
  }
}

/** The names of all mirrors, which are digests. */
function mirrorNames(directory: string): string[] {
  try {
    const names = readdirSync(directory).flatMap(
      (entry) => /^([0-9a-f]+)(?:-\d+)?\.db$/.exec(entry)?.[1] ?? [],
    )
    return [...new Set(names)]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw storageError(directory, error)
  }
}

/** Undefined if it cannot be read. */
function ownerIn(path: string): MirrorOwner | undefined {
  const { DatabaseSync } = loadSqlite()
  try {
    const database = new DatabaseSync(path)
    try {
      const row = database.prepare('select profile, base_url from owner').get()
      return row && { profile: row['profile'] as string | null, baseUrl: row['base_url'] as string | null }
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}
