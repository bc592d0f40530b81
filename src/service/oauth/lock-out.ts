import type { Database } from '../store/tables.ts'
import { digest } from './references.ts'
import { failureMemory } from './sweep.ts'

/** After so many failures something is locked for a minute, then for twice as long with each more. */
interface Rule {
  failures: number
}

const firstLock = 60_000
const longestLock = 60 * 60_000

/** Who is trying: the account that is tried, and the network address that tries, which many may share. */
export interface Attempt {
  email: string
  address: string
}

/** The network first: one that is held back leaves no trace of the accounts that it goes on trying. */
const subjectsOf = ({ email, address }: Attempt): [subject: string, rule: Rule][] => [
  [digest(`network ${networkOf(address)}`), { failures: 50 }],
  [accountOf(email), { failures: 5 }],
]

/** How long, in ms, so many failures lock; 0 for not at all. */
function lockOf(failures: number, rule: Rule): number {
  const over = failures - rule.failures
  return over < 0 ? 0 : Math.min(longestLock, firstLock * 2 ** Math.min(over, 10))
}

const accountOf = (email: string) => digest(`account ${email.trim().toLowerCase()}`)

/** Of IPv6 the first 64 bits: whoever has one such address has all of them. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  const after = tail === undefined ? [] : tail.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => '0')
  return [...groups, ...zeros, ...after].slice(0, 4).join(':')
}

/**
 * Counts an attempt as failed before it is judged, so that many at once are not more than many in
 * turn. `takeBackAttempt` and `forgetFailures` tell that it was none.
 * @returns undefined, or how many seconds to wait, in which case the attempt is not to be judged
 */
export async function countAttempt(
  db: Database,
  attempt: Attempt,
  now = Date.now(),
): Promise<number | undefined> {
  return db.transaction().execute(async (transaction) => {
    const counted = []
    for (const [subject, rule] of subjectsOf(attempt)) {
      await transaction
        .insertInto('sign_in_failures')
        .values({ subject, failures: 0, last_failure_at: now, locked_until: null })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      // An update that changes nothing: it holds the row until the end, on both engines.
      const row = await transaction
        .updateTable('sign_in_failures')
        .set({ subject })
        .where('subject', '=', subject)
        .returningAll()
        .executeTakeFirstOrThrow()
      // Another process may have locked it a moment ahead of us, and clocks differ.
      const left = Math.min((row.locked_until ?? 0) - now, lockOf(row.failures, rule))
      if (left > 0) return Math.ceil(left / 1000)
      const known = now - row.last_failure_at > failureMemory ? 0 : row.failures
      counted.push({ subject, failures: known + 1, rule })
    }
    for (const { subject, failures, rule } of counted) {
      const lock = lockOf(failures, rule)
      await transaction
        .updateTable('sign_in_failures')
        .set({ failures, last_failure_at: now, locked_until: lock > 0 ? now + lock : null })
        .where('subject', '=', subject)
        .execute()
    }
    return undefined
  })
}

/** The last attempt was right as far as it went; the failures before it still count. */
export async function takeBackAttempt(db: Database, attempt: Attempt): Promise<void> {
  for (const [subject, rule] of subjectsOf(attempt)) {
    await db
      .updateTable('sign_in_failures')
      .set((eb) => ({ failures: eb('failures', '-', 1) }))
      .where('subject', '=', subject)
      .where('failures', '>', 0)
      .execute()
    await db
      .updateTable('sign_in_failures')
      .set({ locked_until: null })
      .where('subject', '=', subject)
      .where('failures', '<', rule.failures)
      .execute()
  }
}

/** Has an attempt judged that was counted; where it could not be, it was none. */
export async function judge<T>(db: Database, attempt: Attempt, judging: Promise<T>): Promise<T> {
  try {
    return await judging
  } catch (error) {
    await takeBackAttempt(db, attempt)
    throw error
  }
}

/** Somebody has signed in: nothing is held against the account any more. */
export async function forgetFailures(db: Database, attempt: Attempt): Promise<void> {
  await takeBackAttempt(db, attempt)
  await unlockAccount(db, attempt.email)
}

/** Nothing is held against an account any more; a network stays as it is. */
export async function unlockAccount(db: Database, email: string): Promise<void> {
  await db.deleteFrom('sign_in_failures').where('subject', '=', accountOf(email)).execute()
}
