import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'

/**
 * Runs file operations on a transcript, and turns system errors into failures.
 *
 * @throws Failure `not_found` if the file does not exist, else `storage`
 */
export function withStorageErrors<T>(path: string, verb: 'read' | 'written', work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' && verb === 'read') {
      throw new Failure('not_found', `No transcript ${path}`, {
        advice: [{ code: 'list_all_sessions' }],
        cause,
      })
    }
    const isFull = code === 'ENOSPC' || code === 'EDQUOT'
    throw new Failure('storage', `The transcript ${path} cannot be ${verb}: ${describeSystemError(cause)}`, {
      hint: isFull
        ? 'Free some space on the disk.'
        : 'Set XDG_DATA_HOME to a directory that you can read and write, or fix the permissions of this one.',
      cause,
    })
  }
}
