import type { Database } from '../store/tables.ts'
import { digest, failureLifetime } from './records.ts'

/**
 * How failed attempts slow down the next one: `free` failures cause no wait. After them it starts at 5 s
 * and doubles with each failure, up to `maximum` ms. RFC 6819 section 4.4.3.6.
 */
interface Rule {
  free: number
  maximum: number
}

const firstDelay = 5_000

/** Attempts of one browser, session, or network at one account. */
const ownRule: Rule = { free: 5, maximum: 5 * 60_000 }

/** Attempts of many clients together. The wait is short, because people with the correct password share it. */
const sharedRule: Rule = { free: 100, maximum: 30_000 }

/** Codes have six digits, and only people who know the password can guess them. */
const codeRule: Rule = { free: 5, maximum: 15 * 60_000 }

/** A key under which failures are counted. */
interface Subject {
  subject: string
  rule: Rule
  /** Counts failures of other people too, so a success takes back only its own count. */
  isShared?: boolean
}

/** An attempt at a password or a code on a sign-in page. */
export interface SignInAttempt {
  email: string
  /** The client's network address. */
  address: string
  /** A browser in which this user has signed in before. */
  browser: string | undefined
}

const accountOf = (email: string) => digest(`account ${email.trim().toLowerCase()}`)

/**
 * A browser that the user has used before is counted separately, so that failures of other people cannot
 * lock them out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). Any other attempt is
 * counted for user and network together, and with a looser rule for each of them: against many networks
 * that attack one account, and one network that attacks many.
 *
 * The network is first: while it has to wait, nothing is stored about the accounts that it tries.
 */
export function passwordSubjects({ email, address, browser }: SignInAttempt): Subject[] {
  const account = accountOf(email)
  if (browser !== undefined) return [{ subject: `${account}:browser:${digest(browser)}`, rule: ownRule }]
  const network = digest(`network ${networkOf(address)}`)
  return [
    { subject: network, rule: sharedRule, isShared: true },
    { subject: account, rule: sharedRule },
    { subject: `${account}:${network}`, rule: ownRule },
  ]
}

/** Codes are counted separately from passwords: a correct password must not clear failed codes. */
export function codeSubjects({ email, browser }: SignInAttempt): Subject[] {
  const account = accountOf(email)
  return [{ subject: `${account}:code${browser === undefined ? '' : `:${digest(browser)}`}`, rule: codeRule }]
}

/** An attempt on the account page is counted for its session, so that it does not lock out another session. */
export function sessionSubjects(email: string, sessionUid: string, kind: 'password' | 'code'): Subject[] {
  const subject = `${accountOf(email)}:session:${kind}:${digest(sessionUid)}`
  return [{ subject, rule: kind === 'code' ? codeRule : ownRule }]
}

/** Wrong user codes of a user, and of a network. A correct code clears neither: anyone can get one. */
export function userCodeSubjects(email: string, address: string): Subject[] {
  return [
    { subject: digest(`user codes ${networkOf(address)}`), rule: sharedRule, isShared: true },
    { subject: `${accountOf(email)}:user-code`, rule: ownRule, isShared: true },
  ]
}

/** The first 64 bits of an IPv6 address: a client with one such address has all of them. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  const after = tail === undefined ? [] : tail.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => '0')
  return [...groups, ...zeros, ...after].slice(0, 4).join(':')
}

/** How long, in ms, the next attempt has to wait after a number of failures. */
function delayAfter(failures: number, { free, maximum }: Rule): number {
  return failures < free ? 0 : Math.min(maximum, firstDelay * 2 ** Math.min(failures - free, 20))
}

/** The row of a subject before and after an attempt. */
interface Count extends Subject {
  before: { last_failure_at: number; locked_until: number | null }
  after: { last_failure_at: number; locked_until: number | null }
}

/** An attempt that was counted as a failure before it was judged. */
class CountedAttempt {
  readonly #db: Database
  readonly #counts: readonly Count[]

  constructor(db: Database, counts: readonly Count[]) {
    this.#db = db
    this.#counts = counts
  }

  /** The attempt was correct: clears the failures before it, except those of shared subjects. */
  async succeed(): Promise<void> {
    for (const count of this.#counts) {
      if (count.isShared) await this.#takeBack(count)
      else await this.#db.deleteFrom('sign_in_failures').where('subject', '=', count.subject).execute()
    }
  }

  /** Waits for the check of the attempt. If the check itself fails, the attempt does not count. */
  async judge<T>(judging: Promise<T>): Promise<T> {
    try {
      return await judging
    } catch (error) {
      for (const count of this.#counts) await this.#takeBack(count)
      throw error
    }
  }

  /**
   * Restores the previous row, unless a later attempt has changed it. A success must not move the
   * time of the last failure, or begin a wait for the next user on the same network.
   */
  async #takeBack({ subject, before, after }: Count): Promise<void> {
    await this.#db
      .updateTable('sign_in_failures')
      .set((eb) => ({ failures: eb('failures', '-', 1) }))
      .where('subject', '=', subject)
      .where('failures', '>', 0)
      .execute()
    await this.#db
      .updateTable('sign_in_failures')
      .set(before)
      .where('subject', '=', subject)
      .where('last_failure_at', '=', after.last_failure_at)
      .where('locked_until', after.locked_until === null ? 'is' : '=', after.locked_until)
      .execute()
  }
}

/**
 * Counts an attempt as failed before it is judged, so that concurrent attempts count like sequential ones.
 * @param now Unix time in ms
 * @returns `wait` in seconds if the attempt is refused: it is neither checked nor counted
 */
export function beginAttempt(
  db: Database,
  subjects: readonly Subject[],
  now: number,
): Promise<CountedAttempt | { wait: number }> {
  return db.transaction().execute(async (transaction) => {
    const counts: (Count & { failures: number })[] = []
    for (const counted of subjects) {
      const { subject, rule } = counted
      // An update without a change locks the row until the end of the transaction, on both engines. It is one
      // statement with the insert, because another process may delete the row between two statements.
      const row = await transaction
        .insertInto('sign_in_failures')
        .values({ subject, failures: 0, last_failure_at: now, locked_until: null })
        .onConflict((conflict) => conflict.column('subject').doUpdateSet({ subject }))
        .returningAll()
        .executeTakeFirstOrThrow()
      const known = now - row.last_failure_at >= failureLifetime ? 0 : row.failures
      // Another process may have begun the wait, and the clocks of two machines differ.
      const left = Math.min((row.locked_until ?? 0) - now, delayAfter(known, rule))
      if (left > 0) return { wait: Math.ceil(left / 1000) }
      const failures = known + 1
      const delay = delayAfter(failures, rule)
      counts.push({
        ...counted,
        failures,
        before: { last_failure_at: row.last_failure_at, locked_until: row.locked_until },
        after: { last_failure_at: now, locked_until: delay > 0 ? now + delay : null },
      })
    }
    for (const { subject, failures, after } of counts) {
      await transaction
        .updateTable('sign_in_failures')
        .set({ failures, ...after })
        .where('subject', '=', subject)
        .execute()
    }
    return new CountedAttempt(db, counts)
  })
}

/** Deletes all failures of an account, but not those of a network. Must run inside a transaction. */
export async function clearFailures(db: Database, email: string): Promise<void> {
  const account = accountOf(email)
  await db
    .deleteFrom('sign_in_failures')
    .where((eb) => eb.or([eb('subject', '=', account), eb('subject', 'like', `${account}:%`)]))
    .execute()
}
