/** What node:sqlite throws: `errcode` is SQLite's extended result code, its low byte the primary one. */
interface SqliteError extends Error {
  code: 'ERR_SQLITE_ERROR'
  errcode: number
}

/** https://sqlite.org/rescode.html */
export const busy = 5
export const readOnly = 8
export const corrupt = 11
const full = 13
export const cannotOpen = 14
export const notADatabase = 26
/** Extended codes. */
const writeFailed = 778
const uniqueViolated = 2067

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/** The low byte of the result code; undefined for what SQLite did not throw. */
export const primaryCode = (error: unknown) => (isSqliteError(error) ? error.errcode & 0xff : undefined)
/** `EACCES` and the like. */
export const systemCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether another process held the database for longer than `busy_timeout`. */
export const isBusy = (error: unknown): boolean => primaryCode(error) === busy

/** Whether the file is there and is not what SQLite wrote. */
export const isDamaged = (error: unknown): boolean =>
  [corrupt, notADatabase].includes(primaryCode(error) ?? 0)

/** Whether a write failed for want of room: the disk is full, or a quota or file size limit is reached. */
export function isDiskFull(error: unknown): boolean {
  if (primaryCode(error) === full) return true
  if (isSqliteError(error) && error.errcode === writeFailed) return true
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(systemCode(error) ?? '')
}

export const isUniqueViolation = (error: unknown): boolean =>
  isSqliteError(error) && error.errcode === uniqueViolated
