import { Failure } from '../../../contract/failure.ts'
import { isDiskFull, primaryCode, sqliteCodes, systemCode } from '../../../system/sqlite.ts'

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
    case sqliteCodes.corrupt:
    case sqliteCodes.notADatabase:
      return new Failure('storage', `${file} is damaged or is not a database; nothing was changed`, {
        hint: 'Restore it from a backup, or move the file to start with an empty database',
        cause: error,
      })
    case sqliteCodes.busy:
      return new Failure('storage', `${file} is locked by another program`, {
        hint: 'Try again when that program has ended',
        cause: error,
      })
    case sqliteCodes.readOnly:
    case sqliteCodes.cannotOpen:
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
