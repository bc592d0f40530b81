import { getSystemErrorMessage } from 'node:util'
import { Failure } from '../contract/failure.ts'

/** The system's message with its code, such as `permission denied (EACCES)`. */
export function describeSystemError(error: unknown): string {
  const { errno, code, message } = error as NodeJS.ErrnoException
  // Node's own errors, such as ERR_FS_EISDIR, have an errno but no system message.
  const isOfSystem = errno !== undefined && errno < 0
  if (code === 'EISDIR') return 'it is a directory (EISDIR)'
  return isOfSystem && code !== undefined ? `${getSystemErrorMessage(errno)} (${code})` : message
}

/** The failure `storage` for an error of the system. A failure is returned as it is. */
export function systemFailure(what: string, cause: unknown, hint?: string): Failure {
  if (cause instanceof Failure) return cause
  return new Failure('storage', `${what}: ${describeSystemError(cause)}`, { hint, cause })
}
