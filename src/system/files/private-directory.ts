import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../describe-system-error.ts'

/**
 * Creates a directory with mode 0700, and its missing parents. Does not use Node's `recursive`, which never
 * returns if the system reports ENOENT in an existing directory, as for `HOME=/proc/x`.
 *
 * @throws the system's error if the directory cannot be created
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
 * The failure if a directory below the state directory cannot be used.
 *
 * @param content what chatctl stores there, as the rest of `chatctl stores …`
 */
export function unusableStateDirectory(directory: string, content: string, cause: unknown): Failure {
  return new Failure('storage', `Cannot use the directory ${directory}: ${describeSystemError(cause)}`, {
    hint: `chatctl stores ${content}. To use another directory, set XDG_STATE_HOME.`,
    cause,
  })
}

/**
 * Whether only this user and root can write to a directory or replace it. Its parents count too, because a
 * user with write access to a parent can rename the directory.
 *
 * @param directory absolute path; on Windows, every directory is trusted, because the profile directories
 *   belong to the user
 * @throws if the directory does not exist
 */
export function isOursAlone(directory: string): boolean {
  const uid = process.getuid?.()
  if (uid === undefined) return true
  const real = realpathSync.native(directory)
  const { uid: owner, mode } = lstatSync(real)
  if (owner !== uid || (mode & 0o022) !== 0) return false
  return isGuarded(dirname(real), uid) && (real === directory || isGuarded(directory, uid))
}

/** Whether only this user and root can write to a path and its parents. */
function isGuarded(path: string, uid: number): boolean {
  const { uid: owner, gid, mode } = lstatSync(path)
  if (owner !== uid && owner !== 0) return false
  // In a sticky directory, such as /tmp, users can rename only their own files. Links have no modes.
  const isOpen = (mode & 0o1000) === 0 && (mode & 0o170000) !== 0o120000
  // By convention, a group with the ID of its user has no other members.
  const isOwnGroup = gid === 0 || gid === uid
  if (isOpen && ((mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isOwnGroup))) return false
  const above = dirname(path)
  return above === path || isGuarded(above, uid)
}
