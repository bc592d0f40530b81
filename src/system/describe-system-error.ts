import { getSystemErrorMessage } from 'node:util'

/** What the system said, in its words and with its code: `permission denied (EACCES)`. */
export function describeSystemError(error: unknown): string {
  const { errno, code, message } = error as NodeJS.ErrnoException
  // Errors that Node makes itself, such as ERR_FS_EISDIR, have a number without words.
  const isOfSystem = errno !== undefined && errno < 0
  return isOfSystem && code !== undefined ? `${getSystemErrorMessage(errno)} (${code})` : message
}
