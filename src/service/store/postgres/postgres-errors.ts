/** What a PostgreSQL server answers instead of a result: `code` is its SQLSTATE. */
interface ServerError extends Error {
  code: string
  severity: string
}

/** The database cannot be asked now: it is not reached, was lost, or does not answer. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
}

function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof Error &&
    'severity' in error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.length === 5
  )
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html; undefined for any other error. */
export const sqlStateOf = (error: unknown): string | undefined =>
  isServerError(error) ? error.code : undefined

const hasState = (error: unknown, pattern: RegExp) => pattern.test(sqlStateOf(error) ?? '')

export const isUniqueViolation = (error: unknown): boolean => hasState(error, /^23505$/)

/** `disk_full`. */
export const isDiskFull = (error: unknown): boolean => hasState(error, /^53100$/)

/** Two transactions in each other's way: the one that was ended may simply run again. */
export const isConflict = (error: unknown): boolean => hasState(error, /^40(001|P01)$/)

/** Held up for too long (`query_canceled` is what `statement_timeout` says), or out of memory. */
export const isBusy = (error: unknown): boolean =>
  isConflict(error) || hasState(error, /^(55P03|57014|53000|53200)$/)

/** `data_corrupted`, `index_corrupted`. */
export const isDamaged = (error: unknown): boolean => hasState(error, /^XX00[12]$/)

/**
 * Whether a connection is of no use any more, or none is to be had: broken (08), ended by the server
 * (57P), too many, timed out within a transaction, or on a server that has become a standby (25006).
 * Known by name, for the postgres bundle has its own copy of the class.
 */
export const isUnavailable = (error: unknown): boolean =>
  (error instanceof Error && error.name === 'StorageUnavailable') ||
  hasState(error, /^(08...|57P0[1-5]|53300|25P03|25006)$/)

/**
 * A statement that was prepared before the tables changed, or that somebody threw away: it works
 * when prepared anew.
 */
export const isStaleStatement = (error: unknown): boolean =>
  hasState(error, /^26000$/) || (hasState(error, /^0A000$/) && /cached plan/.test((error as Error).message))
