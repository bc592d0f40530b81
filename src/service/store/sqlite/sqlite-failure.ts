import { Failure } from '../../../contract/failure.ts'
import {
  busy,
  cannotOpen,
  corrupt,
  isDiskFull,
  notADatabase,
  primaryCode,
  readOnly,
  systemCode,
} from './sqlite-errors.ts'

/** An error met while opening the data, in words, with the next step; a bug stays what it is. */
export function sqliteFailure(error: unknown, folder: string, file: string): unknown {
  if (error instanceof Failure) return error
  if (isDiskFull(error)) {
    return new Failure('storage', `No room left on the disk of ${folder}`, {
      hint: 'Free some space and try again, or use another data folder',
      cause: error,
    })
  }
  const system = systemCode(error)
  if (system === 'EACCES' || system === 'EPERM' || system === 'EROFS') {
    const { path = folder } = error as NodeJS.ErrnoException
    return new Failure('storage', `${path} cannot be written (${system})`, {
      hint: 'Make it writable for this user, or use another data folder',
      cause: error,
    })
  }
  if (system === 'ENOTDIR' || system === 'EEXIST') {
    return new Failure('storage', `${folder} is not a folder`, {
      hint: 'Use a folder as the data folder',
      cause: error,
    })
  }
  if (system !== undefined && /^E[A-Z0-9]+$/.test(system)) {
    return new Failure('storage', `The data folder ${folder} cannot be used (${system})`, {
      hint: 'Make it writable for this user, or use another data folder',
      cause: error,
    })
  }
  switch (primaryCode(error)) {
    case corrupt:
    case notADatabase:
      return new Failure('storage', `${file} is damaged or is not a database; nothing in it was changed`, {
        hint: 'Restore it from a backup, or move it away to begin with an empty one',
        cause: error,
      })
    case busy:
      return new Failure('storage', `${file} is held by another program`, {
        hint: 'Try again when that program is done',
        cause: error,
      })
    case readOnly:
    case cannotOpen:
      return new Failure('storage', `${file} cannot be opened for writing`, {
        hint: `Make ${folder} and the files in it writable for this user, or use another data folder`,
        cause: error,
      })
    case undefined:
      return error
    default:
      return new Failure('storage', `${file} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
