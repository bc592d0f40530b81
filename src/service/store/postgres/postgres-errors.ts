import { Failure } from '../../../contract/failure.ts'

/** An error of the PostgreSQL server; `code` is the SQLSTATE. */
interface PostgresServerError extends Error {
  code: string
  severity: string
}

/** The database cannot be reached, the connection was lost, or the server does not respond. */
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

/** A conflict of two transactions, of which this one may run again. */
export const isConflict = (error: unknown): boolean => hasState(error, /^40(001|P01)$/)

/** A lock or statement timeout (`query_canceled`), or out of memory. */
export const isBusy = (error: unknown): boolean =>
  isConflict(error) || hasState(error, /^(55P03|57014|53000|53200)$/)

/** `data_corrupted`, `index_corrupted`. */
export const isDamaged = (error: unknown): boolean => hasState(error, /^XX00[12]$/)

/**
 * Whether a connection is unusable or none is available: lost (08), ended by the server (57P), too many,
 * idle for too long in a transaction, or on a server that has become a standby (25006). Checks the name of
 * the class, because the postgres bundle has a separate copy of it.
 */
export const isUnavailable = (error: unknown): boolean =>
  (error instanceof Error && error.name === 'StorageUnavailable') ||
  hasState(error, /^(08...|57P0[1-5]|53300|25P03|25006)$/)

/**
 * A prepared statement that the server does not know any more, or from before the tables changed. It works
 * if it is prepared again.
 */
export const isStaleStatement = (error: unknown): boolean =>
  hasState(error, /^26000$/) || (hasState(error, /^0A000$/) && /cached plan/.test((error as Error).message))

/**
 * The Failure for an error of a PostgreSQL server or the connection to it. Undefined for any other error.
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
  // pg throws this if the server requires a password and there is none.
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

/** If a host has several addresses, the error of Node has no message, only an error for each address. */
function reason(cause: unknown): string | undefined {
  if (!(cause instanceof AggregateError)) return undefined
  return cause.errors.map((error: Error) => error.message).join(', ')
}
