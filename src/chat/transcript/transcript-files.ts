import { closeSync, openSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { basename, sep } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { systemClock } from '../../system/clock.ts'
import { systemFailure } from '../../system/describe-system-error.ts'

const letters = 'abcdefghijkmnpqrstuvwxyz23456789'

/** The file extension of transcripts. */
export const extension = '.jsonl'

/**
 * An ID that sorts by time and begins with what a user can type: `s20261121-142233-k3f9`. The time
 * is in UTC, so that IDs also sort when daylight saving time ends.
 */
export function makeSessionId(now: Date): string {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T')
  // Not of the host's clock, which may return one number only. The Web Crypto API takes 3 ms to load.
  const letter = () => letters[Math.floor(systemClock.random() * letters.length)]
  return `s${date}-${time}-${Array.from({ length: 4 }, letter).join('')}`
}

export function sessionIdOf(path: string): string {
  return basename(path, extension)
}

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

/**
 * The time in ms of the next use of a session in a directory. It is later than all earlier ones, also if the clock was
 * ahead then: the transcripts, and a file beside their directory, have the times as those of their last changes.
 */
export function nextUse(directory: string): number {
  const path = `${directory}.order`
  const last =
    statSync(path, { throwIfNoEntry: false })?.mtimeMs ??
    transcriptFiles(directory).reduce((latest, { modifiedAt }) => Math.max(latest, modifiedAt), 0)
  const time = Math.max(systemClock.now(), Math.floor(last) + 1)
  closeSync(openSync(path, 'a', 0o600))
  utimesSync(path, time / 1000, time / 1000)
  return time
}

/** @param suffix which their file names have after the extension */
export function transcriptNames(directory: string, suffix = ''): string[] {
  const ending = extension + suffix
  return withStorageErrors(directory, 'read', () => {
    try {
      return readdirSync(directory).filter((name) => name.endsWith(ending) && name !== ending)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
}

/**
 * Runs file operations on a transcript, and turns system errors into failures.
 * @throws Failure `not_found` if the file does not exist, else `storage`
 */
export function withStorageErrors<T>(path: string, verb: 'read' | 'written', work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw storageFailure(path, verb, cause)
  }
}

export function storageFailure(path: string, verb: 'read' | 'written', cause: unknown): Failure {
  if (cause instanceof Failure) return cause
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ENOENT' && verb === 'read') {
    return new Failure('not_found', `No transcript ${path}`, {
      hint: 'List all sessions with: chatctl chat sessions --all',
      cause,
    })
  }
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  const hint = isFull
    ? 'Free some space on the disk.'
    : 'Set XDG_DATA_HOME to a directory that you can read and write, or fix the permissions of this one.'
  return systemFailure(`The transcript ${path} cannot be ${verb}`, cause, hint)
}
