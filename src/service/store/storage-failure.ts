import { Failure } from '../../contract/failure.ts'
import * as sqlite from '../../system/sqlite.ts'
import * as postgres from './postgres/postgres-errors.ts'
import { sqliteFailure } from './sqlite/sqlite-errors.ts'

export const isUniqueViolation = (error: unknown): boolean =>
  sqlite.isUniqueViolation(error) || postgres.isUniqueViolation(error)

/** Whether a write failed because the disk is full. */
export const isDiskFull = (error: unknown): boolean => sqlite.isDiskFull(error) || postgres.isDiskFull(error)

/** Whether a lock was held for too long. The operation may succeed later. */
export const isBusy = (error: unknown): boolean => sqlite.isBusy(error) || postgres.isBusy(error)

/** Whether the data is corrupt. */
export const isDamaged = (error: unknown): boolean => sqlite.isDamaged(error) || postgres.isDamaged(error)

/** Whether the database is unavailable; never for a file. */
export const isUnavailable = (error: unknown): boolean => postgres.isUnavailable(error)

/**
 * The Failure for an error of the database or the data directory. Any other error is returned as it is.
 * @param directory the data directory
 * @param location the database, as `Store.location` has it
 */
export function storageFailure(error: unknown, directory: string, location: string): unknown {
  if (error instanceof Failure) return error
  return postgres.postgresFailure(error, location) ?? sqliteFailure(error, directory, location)
}
