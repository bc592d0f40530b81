import { readResults } from '../../../src/users/results/results-file.ts'
import type { StoredUser } from '../../support/handlers/users.ts'

/** The rows of a results file that name a password of no user, although their outcome is known. */
export function findFalsePasswords(path: string, users: Iterable<StoredUser>): unknown[] {
  const sent = new Set(Array.from(users, ({ email, password }) => `${email} ${password}`))
  return readResults(path).filter(
    ({ status, email, password }) => password && status !== 'unknown' && !sent.has(`${email} ${password}`),
  )
}
