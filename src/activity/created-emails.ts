import { readUserCreations } from './read-activity.ts'

/** What the record has about the creation of an email. */
export interface CreatedEmail {
  /** IDs of the created users, newest first. */
  ids: readonly string[]
  /** `unknown`: no creation was confirmed, and the outcome of one is unknown. */
  outcome: 'done' | 'unknown'
}

/**
 * The emails that were created on a service from this machine, or may have been, in lower case.
 *
 * @param directory of the log
 * @throws as `readActivity`
 */
export function readCreatedEmails(directory: string, service: string): Map<string, CreatedEmail> {
  const created = new Map<string, CreatedEmail>()
  for (const entry of readUserCreations(directory, () => {})) {
    const { email, user_id: id, outcome } = entry
    if (entry.service !== service || email === null || outcome === 'refused') continue
    const key = email.toLowerCase()
    const { ids = [], outcome: newer } = created.get(key) ?? {}
    created.set(key, {
      ids: id === null || ids.includes(id) ? ids : [...ids, id],
      outcome: newer === 'done' ? newer : outcome,
    })
  }
  return created
}
