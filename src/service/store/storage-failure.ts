import { Failure } from '../../contract/failure.ts'
import { readFault } from '../../system/network/network-fault.ts'
import * as sqlite from '../../system/sqlite.ts'

/** PostgreSQL cannot be reached, the connection was lost, or the server does not respond. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
}

/**
 * What is wrong with the storage. `busy`: a lock was held for too long, and the operation may succeed later.
 * `refused`: the database responds, but not to this user, session, or statement, or it has a fault itself.
 */
export type StorageFault = 'full' | 'busy' | 'damaged' | 'unavailable' | 'refused' | 'duplicate'

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const faultsOfStates: readonly (readonly [StorageFault, RegExp])[] = [
  ['duplicate', /^23505$/],
  ['full', /^53100$/],
  // A deadlock, a lock or statement timeout (`query_canceled`), or out of memory.
  ['busy', /^(40001|40P01|55P03|57014|53000|53200)$/],
  ['damaged', /^XX00[12]$/],
  // Lost (08), ended by the server (57P), too many, or idle for too long in a transaction.
  ['unavailable', /^(08...|57P0[1-5]|53300|25P03)$/],
  // No sign-in (28), database, schema, or right; read-only (25006), or without the prepared statements of the session;
  // and faults of the server: its state (55), system (58), limits, configuration, or a bug.
  ['refused', /^(28...|3D000|3F000|42501|25006|26000|42P05|53400|55...|58...|F0...|XX000)$/],
]

/** The SQLSTATE of an error of the PostgreSQL server; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'severity' in error && 'code' in error)) return undefined
  return typeof error.code === 'string' && error.code.length === 5 ? error.code : undefined
}

/**
 * Whether a new session may work: this one is read-only (25006), or does not have its prepared statements any more.
 * `default_transaction_read_only` applies to a session as long as it lasts.
 */
export const isOfSession = (error: unknown): boolean => /^(25006|26000|42P05)$/.test(sqlStateOf(error) ?? '')

/** Undefined for any error that does not come from the storage, and for other errors of it. */
export function faultOf(error: unknown): StorageFault | undefined {
  // By the name of the class, because the postgres bundle has a separate copy of it.
  if (error instanceof Error && error.name === 'StorageUnavailable') return 'unavailable'
  if (sqlite.isUniqueViolation(error)) return 'duplicate'
  if (sqlite.isDiskFull(error)) return 'full'
  if (sqlite.isBusy(error)) return 'busy'
  if (sqlite.isDamaged(error)) return 'damaged'
  if (sqlite.isUnusable(error)) return 'refused'
  const state = sqlStateOf(error) ?? ''
  return faultsOfStates.find(([, states]) => states.test(state))?.[0]
}

export const isUniqueViolation = (error: unknown): boolean => faultOf(error) === 'duplicate'

/**
 * The Failure for an error of the database or the data directory. Any other error is returned as it is.
 * @param directory the data directory
 * @param location the database, as `Store.location` has it
 */
export function storageFailure(error: unknown, directory: string, location: string): unknown {
  if (error instanceof Failure) return error
  // By the name of the class, as above.
  const cause = error instanceof Error && error.name === 'StorageUnavailable' ? error.cause : error
  return (
    connectFailure(cause, location) ??
    faultFailure(error, cause, directory, location) ??
    fileFailure(error, directory, location)
  )
}

/** PostgreSQL refuses the user or every write, or does not have the database, or TLS fails. */
function connectFailure(cause: unknown, location: string): Failure | undefined {
  if (!(cause instanceof Error)) return undefined
  const { message: words } = cause
  // pg throws this if the server requires a password and there is none.
  const isMissing = /password must be a (non-empty )?string/i.test(words)
  const state = isMissing ? '28P01' : (sqlStateOf(cause) ?? '')
  if (state.startsWith('28')) {
    const hint =
      'Set the user in the URL or in PGUSER, and the password in PGPASSWORD or in the file that PGPASSFILE names, which only you may read (mode 0600)'
    const why = isMissing ? 'a password is required' : words
    return new Failure('storage', `${location} rejected the sign-in: ${why}`, { hint })
  }
  if (state === '3D000') {
    const advice = [{ code: 'create_database', exists: false }] as const
    return new Failure('storage', `No ${location}`, { advice })
  }
  if (state === '42501' || state === '3F000') {
    const hint = 'Make the user the owner of the database, or grant it all privileges on its schema'
    return new Failure('storage', `${location} denied access to this user: ${words}`, { hint, cause })
  }
  if (state === '25006') {
    const hint = 'Use the primary server. If the provider made the database read-only, its disk may be full'
    return new Failure('storage', `${location} is read-only`, { hint, cause })
  }
  const { kind, details } = readFault(cause)
  if (kind === 'tls' || / SSL /.test(words)) {
    const hint =
      'Set the certificate of its certificate authority with sslrootcert in the URL, or see sslmode in docs/reference/service-storage.md'
    return new Failure('tls', `No encrypted connection to ${location}: ${details}`, { hint, cause })
  }
  return undefined
}

function faultFailure(error: unknown, cause: unknown, directory: string, location: string) {
  const fault = faultOf(error)
  if (fault === undefined || fault === 'duplicate' || fault === 'refused') return undefined
  // If a host has several addresses, Node has an error for each, and no message.
  const reason = cause instanceof AggregateError ? readFault(cause).details : Object(cause).message
  const [message, hint] = (
    {
      full: [
        `No space left on the disk of ${sqlStateOf(error) ? location : directory}`,
        'Free some space and try again',
      ],
      busy: [`${location} is busy, or locked by another program`, 'Try again when that program has ended'],
      damaged: [
        `${location} is damaged or is not a database; nothing was changed`,
        'Restore it from a backup, or move the file to start with an empty database',
      ],
      unavailable: [
        `Cannot reach ${location}: ${reason}`,
        'Check that PostgreSQL is running there and accepts connections from this machine',
      ],
    } as const
  )[fault]
  return new Failure(fault === 'unavailable' ? 'unreachable' : 'storage', message, { hint, cause })
}

/** The error itself if it does not come from the directory or the database. */
function fileFailure(cause: unknown, directory: string, location: string): unknown {
  const code = sqlite.systemCode(cause) ?? ''
  const primary = sqlite.primaryCode(cause)
  const hint = 'Make it writable for this user, or use another data directory'
  if (code === 'ENOTDIR' || code === 'EEXIST')
    return new Failure('storage', `${directory} is not a directory`, { hint, cause })
  if (primary === sqlite.sqliteCodes.readOnly || primary === sqlite.sqliteCodes.cannotOpen)
    return new Failure('storage', `Cannot open ${location} for writing`, { hint, cause })
  if (/^E[A-Z0-9]+$/.test(code)) {
    const { path = directory } = cause as NodeJS.ErrnoException
    const verb = ['EACCES', 'EPERM', 'EROFS'].includes(code) ? 'write' : 'use'
    return new Failure('storage', `Cannot ${verb} ${path} (${code})`, { hint, cause })
  }
  if (primary === undefined && sqlStateOf(cause) === undefined) return cause
  return new Failure('storage', `Cannot use ${location}: ${(cause as Error).message}`, { cause })
}
