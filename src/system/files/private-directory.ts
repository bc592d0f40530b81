import { lstatSync, mkdirSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../describe-system-error.ts'

/**
 * Creates a directory with mode 0700, and its missing parents. Does not use Node's `recursive`, which never
 * returns if the system reports ENOENT in an existing directory, as for `HOME=/proc/x`.
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
 * @param content what chatctl stores there, as the rest of `chatctl stores …`
 */
export function unusableStateDirectory(directory: string, content: string, cause: unknown): Failure {
  const hint = `chatctl stores ${content}. To use another directory, set XDG_STATE_HOME.`
  return systemFailure(`Cannot use the directory ${directory}`, cause, hint)
}

/** What of a path another user can change. */
interface OpenPart {
  /** The path, or a directory above it or above the target of a link. */
  path: string
  isForeign: boolean
  mode: string
}

/** Whether only this user and root can write to a directory or replace it. @throws if it does not exist */
export function isOursAlone(directory: string): boolean {
  return findOpenPart(directory) === undefined
}

/**
 * Finds what lets another user than this one and root change or replace a file or a directory. Its parents count too,
 * because a user with write access to a parent can rename it.
 * @param owner another user that may own it
 * @returns undefined on Windows, because the profile directories belong to the user
 * @throws if the path does not exist
 */
export function findOpenPart(path: string, owner?: number, uid = process.getuid?.()): OpenPart | undefined {
  return uid === undefined ? undefined : findOpen(resolve(path), [uid, 0, owner])
}

const modeOf = ({ mode }: Stats) => (mode & 0o777).toString(8).padStart(4, '0')

function findOpen(path: string, owners: readonly (number | undefined)[]): OpenPart | undefined {
  const above = dirname(path)
  const found = above === path ? undefined : findOpen(above, owners)
  if (found) return found
  const stats = lstatSync(path)
  // In a user namespace, root can have the ID of all other users: then a file of that ID is not trusted.
  const isOfSystem = stats.uid === lstatSync('/').uid && (stats.isDirectory() || stats.isSymbolicLink())
  const isForeign = !isOfSystem && !owners.includes(stats.uid)
  const part = { path, isForeign, mode: modeOf(stats) }
  if (isForeign) return part
  if (stats.isSymbolicLink()) {
    const from = realpathSync.native(above)
    if (!/^\/proc(\/|$)/.test(from)) return findOpen(resolve(from, readlinkSync(path)), owners)
    // A file that this process has open, as for `<(…)`. Who has opened it may have done so for another user.
    const open = statSync(path)
    return open.isFile() && (open.mode & 0o022) !== 0 ? { path, isForeign, mode: modeOf(open) } : undefined
  }
  // By convention, a group with the ID of its user has no other members.
  const isOwnGroup = stats.isDirectory() && (stats.gid === 0 || stats.gid === stats.uid)
  // In a sticky directory, such as /tmp, users can rename only their own files.
  const isOpen = stats.isDirectory() ? (stats.mode & 0o1000) === 0 : stats.isFile() || stats.isFIFO()
  return isOpen && (stats.mode & (isOwnGroup ? 0o002 : 0o022)) !== 0 ? part : undefined
}
