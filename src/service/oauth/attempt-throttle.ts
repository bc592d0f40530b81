import type { Database } from '../store/tables.ts'
import { digest } from './record-payload.ts'
import { failureLifetime } from './remove-expired.ts'

/**
 * How failed attempts slow down the next one: `free` failures cause no wait. After them it starts at 5 s
 * and doubles with each failure, up to `maximum` ms. RFC 6819 section 4.4.3.6.
 */
interface Rule {
  free: number
  maximum: number
}

const firstDelay = 5_000

/** Guesses that one party makes at one account. */
const ownRule: Rule = { free: 5, maximum: 5 * 60_000 }

/** Guesses that many parties share. The wait is short, because people with the right password share it too. */
const sharedRule: Rule = { free: 100, maximum: 30_000 }

/** Codes have six digits, and only people who know the password can guess them. */
const codeRule: Rule = { free: 5, maximum: 15 * 60_000 }

/** What failures are counted for. */
interface Subject {
  subject: string
  rule: Rule
  /** Failures of others are in it too, so a success takes back no more than itself. */
  isShared?: boolean
}

/** An attempt at a password or a code on the page of a sign-in. */
export interface SignInAttempt {
  email: string
  /** The client's network address. */
  address: string
  /** A browser in which this person has signed in before. */
  browser: string | undefined
}

const accountOf = (email: string) => digest(`account ${email.trim().toLowerCase()}`)

/**
 * A browser that the person has used before is counted by itself, so that nobody else's failures can
 * keep them out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). Any other attempt is
 * counted for account and network together, and loosely for each of them: against many networks that
 * guess at one account, and one network that guesses at many.
 *
 * The network comes first: while it has to wait, nothing is stored of the accounts that it tries.
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

/** Codes are counted apart from passwords: the right password must not clear guesses at the code. */
export function codeSubjects({ email, browser }: SignInAttempt): Subject[] {
  const account = accountOf(email)
  return [{ subject: `${account}:code${browser === undefined ? '' : `:${digest(browser)}`}`, rule: codeRule }]
}

/** A guess on the account page is counted for the session, so that it locks out no other one. */
export function sessionSubjects(email: string, sessionUid: string, kind: 'password' | 'code'): Subject[] {
  const subject = `${accountOf(email)}:session:${kind}:${digest(sessionUid)}`
  return [{ subject, rule: kind === 'code' ? codeRule : ownRule }]
}

/** Of IPv6 the first 64 bits: a client that has one such address has all of them. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  const after = tail === undefined ? [] : tail.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => '0')
  return [...groups, ...zeros, ...after].slice(0, 4).join(':')
}

/** How long, in ms, the next attempt has to wait after so many failures. */
function delayAfter(failures: number, { free, maximum }: Rule): number {
  return failures < free ? 0 : Math.min(maximum, firstDelay * 2 ** Math.min(failures - free, 20))
}

/** The throttle refuses an attempt: it is neither checked nor counted. */
export interface Throttled {
  /** Seconds. */
  wait: number
}

/** What a subject held before an attempt and holds because of it. */
interface Count extends Subject {
  before: { last_failure_at: number; locked_until: number | null }
  after: { last_failure_at: number; locked_until: number | null }
}

/** An attempt that was counted as a failure before it was judged. */
export class Attempt {
  readonly #db: Database
  readonly #counts: readonly Count[]

  constructor(db: Database, counts: readonly Count[]) {
    this.#db = db
    this.#counts = counts
  }

  /** It was right: the failures before it are forgiven, except those that others share. */
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
   * Restores what was there before, unless a later attempt has changed it. A success must not move the
   * time of the last failure, or begin a wait for the next person on the same network.
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
 * Counts an attempt as failed before it is judged, so that many at once are not more than many in turn.
 * @param now Unix time in ms
 */
export function beginAttempt(
  db: Database,
  subjects: readonly Subject[],
  now: number,
): Promise<Attempt | Throttled> {
  return db.transaction().execute(async (transaction) => {
    const counts: (Count & { failures: number })[] = []
    for (const counted of subjects) {
      const { subject, rule } = counted
      // An update that changes nothing holds the row until the end, on both engines. It is one statement
      // with the insert: another process may remove the row between two.
      const row = await transaction
        .insertInto('sign_in_failures')
        .values({ subject, failures: 0, last_failure_at: now, locked_until: null })
        .onConflict((conflict) => conflict.column('subject').doUpdateSet({ subject }))
        .returningAll()
        .executeTakeFirstOrThrow()
      const known = now - row.last_failure_at >= failureLifetime ? 0 : row.failures
      // Another process may have begun the wait a moment ahead of us, and clocks differ.
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
    return new Attempt(db, counts)
  })
}

/** Forgets all failures of an account; those of a network stay. Must run inside a transaction. */
export async function clearFailures(db: Database, email: string): Promise<void> {
  const account = accountOf(email)
  await db
    .deleteFrom('sign_in_failures')
    .where((eb) => eb.or([eb('subject', '=', account), eb('subject', 'like', `${account}:%`)]))
    .execute()
}
