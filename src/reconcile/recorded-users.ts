import { readCreatedEmails } from '../activity/created-emails.ts'
import type { Directories } from '../system/directories.ts'
import type { ComparedEntry } from './compare-user.ts'

/**
 * Finds users without an entry in the state file in the record of changes of this machine, for example those of an
 * import. The record is read when it is first needed.
 */
export function recordedUsers(
  { state }: Directories,
  service: string,
): (email: string) => ComparedEntry | undefined {
  let created: ReturnType<typeof readCreatedEmails> | undefined
  return (email) => {
    created ??= readCreatedEmails(state, service)
    const found = created.get(email.toLowerCase())
    if (!found) return undefined
    const { ids, outcome } = found
    if (ids.length === 1) return { id: ids[0], hashes: {}, ids }
    return { id: undefined, creation: outcome === 'done' ? 'nameless' : 'unknown', hashes: {}, ids }
  }
}
