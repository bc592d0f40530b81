import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

/**
 * On Node 22, node:sqlite is a release candidate and prints a warning to stderr. Only this warning is
 * suppressed, because the user cannot act on it.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const text = typeof warning === 'string' ? warning : warning.message
    if (text.startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Opens a database; creates the file if it is missing. */
export function openDatabase(...given: ConstructorParameters<typeof DatabaseSync>): DatabaseSync {
  const sqlite = loadSqlite()
  return new sqlite.DatabaseSync(...given)
}

/** The URL of a file for SQLite, which refuses one with a host, as that of a file on a Windows share. */
export function sqliteUrl(path: string, platform: NodeJS.Platform = process.platform): URL {
  const { host, pathname } = pathToFileURL(path, { windows: platform === 'win32' })
  return new URL(`file://${host && `//${host}`}${pathname}`)
}

/** Primary result codes (https://sqlite.org/rescode.html). */
export const sqliteCodes = {
  busy: 5,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
}
/** Extended codes. */
const writeFailed = 778
const uniqueViolated = 2067

/** An error of node:sqlite. `errcode` is the extended result code of SQLite; its low byte is the primary one. */
function isSqliteError(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/** The primary result code; undefined for any other error. */
export const primaryCode = (error: unknown) => (isSqliteError(error) ? error.errcode & 0xff : undefined)

/** `EACCES` and the like. */
export const systemCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether another process locked the database for longer than `busy_timeout`. */
export const isBusy = (error: unknown): boolean => primaryCode(error) === sqliteCodes.busy

/** Whether the file is corrupt or not a database. */
export const isDamaged = (error: unknown): boolean =>
  [sqliteCodes.corrupt, sqliteCodes.notADatabase].includes(primaryCode(error) ?? 0)

/** Whether the file cannot be opened, read, or written, apart from a full disk: its mode, its disk, or a mount. */
export const isUnusable = (error: unknown): boolean =>
  [sqliteCodes.readOnly, sqliteCodes.inputOutput, sqliteCodes.cannotOpen].includes(primaryCode(error) ?? 0)

/** Whether a write failed because the disk is full, or a quota or file size limit is reached. */
export function isDiskFull(error: unknown): boolean {
  if (primaryCode(error) === sqliteCodes.full) return true
  if (isSqliteError(error) && error.errcode === writeFailed) return true
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(systemCode(error) ?? '')
}

export const isUniqueViolation = (error: unknown): boolean =>
  isSqliteError(error) && error.errcode === uniqueViolated
