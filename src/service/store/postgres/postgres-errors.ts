import { Failure } from '../../../contract/failure.ts'

/** What a PostgreSQL server answers instead of a result: `code` is its SQLSTATE. */
interface PostgresServerError extends Error {
  code: string
  severity: string
}

/** The database cannot be asked now: it is not reached, was lost, or does not answer. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
}

function isServerError(error: unknown): error is PostgresServerError {
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

/**
 * What a PostgreSQL server or the way to it said, in words, with the next step. Undefined for any
 * other error.
 * @param location the database, without a password
 */
export function postgresFailure(error: unknown, location: string): Failure | undefined {
  const cause = error instanceof Error && error.name === 'StorageUnavailable' ? error.cause : error
  return (
    connectFailure(cause, location) ?? tlsFailure(cause, location) ?? otherFailure(error, cause, location)
  )
}

function connectFailure(cause: unknown, location: string): Failure | undefined {
  const words = cause instanceof Error ? cause.message : ''
  // pg itself, when the server wants a password and none was given.
  const isMissing = /password must be a (non-empty )?string/.test(words)
  switch (isMissing ? '28P01' : sqlStateOf(cause)) {
    case '28P01':
    case '28000':
      return new Failure(
        'storage',
        `${location} rejected the sign-in: ${isMissing ? 'a password is required' : words}`,
        {
          hint: 'Set the user in the URL or in PGUSER, and the password in PGPASSWORD or in the file that PGPASSFILE names',
        },
      )
    case '3D000':
      return new Failure('storage', `No ${location}`, {
        advice: [{ code: 'create_database', exists: false }],
      })
    case '42501':
    case '3F000':
      return new Failure('storage', `${location} denied access to this user: ${words}`, {
        hint: 'Make the user the owner of the database, or grant it all privileges on its schema',
        cause,
      })
    default:
      return undefined
  }
}

function tlsFailure(cause: unknown, location: string): Failure | undefined {
  if (!(cause instanceof Error)) return undefined
  const code = 'code' in cause ? String(cause.code) : ''
  const isTls = /CERT|SELF_SIGNED|UNABLE_TO_|_TLS_|_SSL_|EPROTO/.test(code) || / SSL /.test(cause.message)
  if (!isTls) return undefined
  return new Failure('tls', `No encrypted connection to ${location}: ${cause.message}`, {
    hint: 'Set the certificate of its certificate authority with sslrootcert in the URL, or see sslmode in docs/reference/service-storage.md',
    cause,
  })
}

function otherFailure(error: unknown, cause: unknown, location: string): Failure | undefined {
  const words = cause instanceof Error ? cause.message : String(cause)
  if (isUnavailable(error)) {
    return new Failure('unreachable', `Cannot reach ${location}: ${reason(cause) ?? words}`, {
      hint: 'Check that PostgreSQL is running there and accepts connections from this machine',
      cause,
    })
  }
  if (isDiskFull(error)) {
    return new Failure('storage', `No space left on the disk of ${location}`, {
      hint: 'Free some space on the server and try again',
      cause,
    })
  }
  if (isBusy(error)) {
    return new Failure('storage', `${location} is busy: ${words}`, { hint: 'Try again', cause })
  }
  if (sqlStateOf(error) === undefined) return undefined
  return new Failure('storage', `Cannot use ${location}: ${words}`, { cause })
}

/** Where a name has several addresses, Node's error has no words but the errors of each. */
function reason(cause: unknown): string | undefined {
  if (!(cause instanceof AggregateError)) return undefined
  return cause.errors.map((error: Error) => error.message).join(', ')
}
