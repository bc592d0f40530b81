import { getSystemErrorMessage } from 'node:util'

/** What the system said, in its words and with its code: `permission denied (EACCES)`. */
export function systemWords(error: unknown): string {
  const { errno, code, message } = error as NodeJS.ErrnoException
  return errno === undefined || code === undefined ? message : `${getSystemErrorMessage(errno)} (${code})`
}
