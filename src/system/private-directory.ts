import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a directory for its owner only (0700), with the missing ones above it. Node's `recursive` never
 * returns where the system reports a missing directory in one that exists, as with `HOME=/proc/x`.
 *
 * @throws the system's error where it cannot be made
 */
export function makePrivateDirectory(path: string): void {
  for (const isSecond of [false, true]) {
    try {
      mkdirSync(path, { mode: 0o700 })
      return
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
      if (isSecond || code !== 'ENOENT' || dirname(path) === path) throw error
      makePrivateDirectory(dirname(path))
    }
  }
}

/**
 * Whether nobody but us and root can put anything into a directory, or another one in its place. The
 * directories above it count: who can write to one of them can move what is in it away.
 *
 * @param directory absolute; on Windows, where a profile's directories are its user's, every one is trusted
 * @throws where it is not there
 */
export function isOursAlone(directory: string): boolean {
  const uid = process.getuid?.()
  if (uid === undefined) return true
  const real = realpathSync.native(directory)
  const { uid: owner, mode } = lstatSync(real)
  if (owner !== uid || (mode & 0o022) !== 0) return false
  return isGuarded(dirname(real), uid) && (real === directory || isGuarded(directory, uid))
}

/** Whether what a path names, and all above it, is in the hands of us and root. */
function isGuarded(path: string, uid: number): boolean {
  const { uid: owner, gid, mode } = lstatSync(path)
  if (owner !== uid && owner !== 0) return false
  // In a sticky directory, such as /tmp, nobody can move what is not theirs. Links have no modes.
  const isOpen = (mode & 0o1000) === 0 && (mode & 0o170000) !== 0o120000
  // A group that has a user's own number has no other members, by the custom of most systems.
  const isOwnGroup = gid === 0 || gid === uid
  if (isOpen && ((mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isOwnGroup))) return false
  const above = dirname(path)
  return above === path || isGuarded(above, uid)
}
