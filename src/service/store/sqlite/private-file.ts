import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes an empty file of 0600. What root makes in somebody else's folder is theirs, so that they can
 * use it: SQLite's further files take the file's owner. Only a file that is new is given away, for
 * one that lies there already may be a link to anything.
 * @throws EEXIST
 */
export function makePrivateFile(file: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    const { uid, gid } = statSync(dirname(file))
    if (process.geteuid?.() === 0 && uid !== 0) fchownSync(descriptor, uid, gid)
  } finally {
    closeSync(descriptor)
  }
}
