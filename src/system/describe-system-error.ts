import { getSystemErrorMessage } from 'node:util'

/** The system's message with its code, such as `permission denied (EACCES)`. */
export function describeSystemError(error: unknown): string {
  const { errno, code, message } = error as NodeJS.ErrnoException
  // Node's own errors, such as ERR_FS_EISDIR, have an errno but no system message.
  const isOfSystem = errno !== undefined && errno < 0
  if (code === 'EISDIR') return 'it is a directory (EISDIR)'
  return isOfSystem && code !== undefined ? `${getSystemErrorMessage(errno)} (${code})` : message
}
