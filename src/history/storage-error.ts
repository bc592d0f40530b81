import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { isBusy, isDiskFull } from '../system/sqlite.ts'

/** The failure for an error of the database or its directory. */
export function storageError(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException
  if (cause instanceof Failure || typeof code !== 'string' || !/^(E[A-Z0-9]+|ERR_SQLITE_ERROR)$/.test(code))
    return cause
  if (isDiskFull(cause)) {
    return new Failure('storage', `No space left on the disk of ${path}`, {
      hint: 'Free some space, and run the same command again. What the mirror had is unchanged.',
      cause,
    })
  }
  if (isBusy(cause)) {
    return new Failure('storage', `${path} is locked by another program`, {
      hint: 'Try again when that program has ended.',
      cause,
    })
  }
  return new Failure('storage', `Cannot use ${path}: ${describeSystemError(cause)}`, {
    hint: 'Make it readable and writable for this user, or set XDG_DATA_HOME to another directory.',
    cause,
  })
}
