import { Failure } from '../../contract/failure.ts'
import * as postgres from './postgres/postgres-errors.ts'
import * as sqlite from './sqlite/sqlite-errors.ts'

/** What an error of either engine means: each error tells by itself which engine it is from. */

export const isUniqueViolation = (error: unknown): boolean =>
  sqlite.isUniqueViolation(error) || postgres.isUniqueViolation(error)

/** Whether a write failed for want of room. */
export const isDiskFull = (error: unknown): boolean => sqlite.isDiskFull(error) || postgres.isDiskFull(error)

/** Whether others held the data for longer than anybody waits: it may work the next time. */
export const isBusy = (error: unknown): boolean => sqlite.isBusy(error) || postgres.isBusy(error)

/** Whether the data is there and is not what was written. */
export const isDamaged = (error: unknown): boolean => sqlite.isDamaged(error) || postgres.isDamaged(error)

/** Whether the database cannot be asked now; a file always can. */
export const isUnavailable = (error: unknown): boolean => postgres.isUnavailable(error)

/**
 * An error of the data in words, with the next step; a bug stays what it is.
 * @param directory the data folder
 * @param location the database, as `Store.place` has it
 */
export function storageFailure(error: unknown, directory: string, location: string): unknown {
  if (error instanceof Failure) return error
  return postgres.postgresFailure(error, location) ?? sqlite.sqliteFailure(error, directory, location)
}
