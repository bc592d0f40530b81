import { Failure } from '../../../contract/failure.ts'

/** An error of node:sqlite. `errcode` is the extended result code of SQLite; its low byte is the primary one. */
interface SqliteError extends Error {
  code: 'ERR_SQLITE_ERROR'
  errcode: number
}

/** https://sqlite.org/rescode.html */
const busy = 5
const readOnly = 8
const corrupt = 11
const full = 13
const cannotOpen = 14
const notADatabase = 26
/** Extended codes. */
const writeFailed = 778
const uniqueViolated = 2067

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/** The primary result code; undefined for any other error. */
const primaryCode = (error: unknown) => (isSqliteError(error) ? error.errcode & 0xff : undefined)
/** `EACCES` and the like. */
const systemCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether another process locked the database for longer than `busy_timeout`. */
export const isBusy = (error: unknown): boolean => primaryCode(error) === busy

/** Whether the file is corrupt or not a database. */
export const isDamaged = (error: unknown): boolean =>
  [corrupt, notADatabase].includes(primaryCode(error) ?? 0)

/** Whether a write failed because the disk is full, or a quota or file size limit is reached. */
export function isDiskFull(error: unknown): boolean {
  if (primaryCode(error) === full) return true
  if (isSqliteError(error) && error.errcode === writeFailed) return true
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(systemCode(error) ?? '')
}

export const isUniqueViolation = (error: unknown): boolean =>
  isSqliteError(error) && error.errcode === uniqueViolated

/** The Failure for an error of the database file or its directory. Any other error is returned as it is. */
export function sqliteFailure(error: unknown, directory: string, file: string): unknown {
  if (error instanceof Failure) return error
  if (isDiskFull(error)) {
    return new Failure('storage', `No space left on the disk of ${directory}`, {
      hint: 'Free some space and try again, or use another data directory',
      cause: error,
    })
  }
  const system = systemCode(error)
  if (system === 'EACCES' || system === 'EPERM' || system === 'EROFS') {
    const { path = directory } = error as NodeJS.ErrnoException
    return new Failure('storage', `Cannot write ${path} (${system})`, {
      hint: 'Make it writable for this user, or use another data directory',
      cause: error,
    })
  }
  if (system === 'ENOTDIR' || system === 'EEXIST') {
    return new Failure('storage', `${directory} is not a directory`, {
      hint: 'Choose a directory as the data directory',
      cause: error,
    })
  }
  if (system !== undefined && /^E[A-Z0-9]+$/.test(system)) {
    return new Failure('storage', `Cannot use the data directory ${directory} (${system})`, {
      hint: 'Make it writable for this user, or use another data directory',
      cause: error,
    })
  }
  switch (primaryCode(error)) {
    case corrupt:
    case notADatabase:
      return new Failure('storage', `${file} is damaged or is not a database; nothing was changed`, {
        hint: 'Restore it from a backup, or move the file to start with an empty database',
        cause: error,
      })
    case busy:
      return new Failure('storage', `${file} is locked by another program`, {
        hint: 'Try again when that program has ended',
        cause: error,
      })
    case readOnly:
    case cannotOpen:
      return new Failure('storage', `Cannot open ${file} for writing`, {
        hint: `Make ${directory} and the files in it writable for this user, or use another data directory`,
        cause: error,
      })
    case undefined:
      return error
    default:
      return new Failure('storage', `Cannot use ${file}: ${(error as Error).message}`, { cause: error })
  }
}
