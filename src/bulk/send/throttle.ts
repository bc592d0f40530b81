import type { ClientEvent } from '../../client/client-event.ts'
import { readWait, readWindows } from '../../client/rate-limit-headers.ts'
import type { Quota } from '../../config/quota.ts'
import { Failure, type Help } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import type { Spent } from '../journal/spent-quota.ts'
import { ChangeNotifier } from './change-notifier.ts'
import { type KnownQuota, QuotaCount, QuotaHeaders, tighterOf } from './known-quota.ts'

/** The maximum wait that can be set, in ms: what a timer of Node can wait, less an hour. */
const longestWait = 2 ** 31 - 1 - 3_600_000

/** Beyond the year 275760 there is no date to show. */
const longestPlan = 365 * 24 * 3600 * 1000

/** What all workers wait for. */
export interface Pause {
  /** Milliseconds since the epoch. */
  until: number
  why: 'limited' | 'quota'
}

export interface ThrottleOptions {
  clock: Clock
  /** Milliseconds; Infinity is no bound. */
  maxWait: number
  signal: AbortSignal
  quota?: Quota | undefined
  /** Of the quota's window, from an earlier run. */
  spent?: Spent | undefined
  /** Told of the window of the quota where the service names another one than was counted. */
  onWindow?(spent: Spent): void
  /** Told again where a pause becomes longer. */
  onPause?(pause: Pause): void
  onGo?(): void
}

/**
 * What all workers share to keep within a quota. A 429, or a quota that is used up, pauses all of
 * them; then one request goes first, and the others when it was answered with something else.
 */
export class Throttle {
  readonly #options: ThrottleOptions
  readonly #count: QuotaCount | undefined
  readonly #headers = new QuotaHeaders()
  readonly #changed = new ChangeNotifier()
  #pause: Pause | undefined
  /** Grows with each pause, so that an answer can be told from one to a request of before it. */
  #generation = 0
  #isHalfOpen = false
  #isProbing = false
  #inFlight = 0
  /** 429s and waits since the last answer that was none. */
  #limits = 0
  #waited = 0
  /** The answer that asked for the last pause. */
  #asker: Failure | undefined

  constructor(options: ThrottleOptions) {
    this.#options = options
    this.#count = options.quota && new QuotaCount(options.quota, options.spent, options.clock.now())
    options.signal.addEventListener('abort', () => this.#changed.ring(), { once: true })
  }

  /**
   * Runs `attempt` when a request may leave; again after a pause as often as it is answered with
   * 429, for that was not done.
   *
   * @param onLimited is awaited after each 429, before the pause
   * @throws Failure `rate_limited` where a pause would be longer than `maxWait`; the signal's reason;
   *   what `attempt` throws
   */
  async through<T>(attempt: () => Promise<T>, onLimited?: () => void | Promise<void>): Promise<T> {
    let patience = this.#options.maxWait
    for (;;) {
      const pass = await this.#enter()
      try {
        const result = await attempt()
        this.#leave(pass, true)
        return result
      } catch (error) {
        const failure = error instanceof Failure ? error : undefined
        const status = failure?.status
        this.#leave(pass, status !== undefined && status !== 429)
        if (failure && status === 429) {
          this.#asker = failure
          // The client was not observed, or it is a pause that this answer has not begun.
          if (pass.generation === this.#generation) this.#limited(undefined)
          await onLimited?.()
          continue
        }
        // A service that is down has named the time of its return.
        const wait = (this.#pause?.until ?? 0) - this.#now()
        if (!failure || status !== 503 || failure.inDoubt || wait <= 0 || wait > patience) throw error
        this.#asker = failure
        patience -= wait
      }
    }
  }

  /** Told of the client's events: the client is made with `maxWait` 0, so that every 429 comes here. */
  observe(event: ClientEvent): void {
    // The client's own further attempts have not come through here.
    if (event.type === 'request' && event.attempt > 1) this.#count?.take(this.#now())
    if (event.type !== 'response') return
    this.#headers.read(event.headers, this.#now())
    const spent = this.#count?.align(readWindows(event.headers, this.#now()), this.#now())
    if (spent) this.#options.onWindow?.(spent)
    if (event.status === 429) this.#limited(readWait(event.headers, this.#now()))
    if (event.status === 503 && event.headers['retry-after'] !== undefined) {
      const asked = readWait(event.headers, this.#now())
      if (asked) this.#stop(asked, 'limited')
    }
    this.#changed.ring()
  }

  /** What is known of the quota: of the one that was given and what the headers of answers say, the tighter. */
  get known(): KnownQuota | undefined {
    const [given, said] = [this.#count?.known(this.#now()), this.#headers.known(this.#now())]
    return given && said ? tighterOf(given, said) : (given ?? said)
  }

  #now(): number {
    return this.#options.clock.now()
  }

  async #enter(): Promise<{ generation: number; isProbe: boolean }> {
    const { signal, clock } = this.#options
    for (;;) {
      signal.throwIfAborted()
      const wait = this.#pause ? this.#pause.until - this.#now() : 0
      if (this.#pause && wait > 0) {
        if (this.#waited > this.#options.maxWait) throw this.#tooLong(this.#pause)
        await clock.sleep(wait, signal)
        continue
      }
      this.#go()
      if (this.#isHalfOpen && this.#isProbing) {
        await this.#changed.heard()
        continue
      }
      const used = this.#usedUpFor()
      if (used > 0) {
        this.#stop(used, 'quota')
        continue
      }
      if (!this.#headers.hasRoom(this.#inFlight, this.#now())) {
        await this.#changed.heard()
        continue
      }
      this.#count?.take(this.#now())
      this.#inFlight++
      this.#isProbing = this.#isHalfOpen
      return { generation: this.#generation, isProbe: this.#isHalfOpen }
    }
  }

  #usedUpFor(): number {
    return Math.max(this.#count?.usedUpFor(this.#now()) ?? 0, this.#headers.usedUpFor(this.#now()))
  }

  /** @param isTaken whether there was an answer other than 429 */
  #leave(pass: { generation: number; isProbe: boolean }, isTaken: boolean): void {
    this.#inFlight--
    if (pass.isProbe) this.#isProbing = false
    if (isTaken && pass.generation === this.#generation) {
      this.#isHalfOpen = false
      this.#limits = 0
      this.#waited = 0
    }
    this.#changed.ring()
  }

  /** @param asked milliseconds, where the answer said so */
  #limited(asked: number | undefined): void {
    const now = this.#now()
    if (this.#pause && this.#pause.until > now) {
      // Others that were under way hear of the same limit.
      if (asked !== undefined) this.#stop(asked, 'limited')
      return
    }
    const growing = Math.min(30_000, 1000 * 2 ** this.#limits) * (1 - this.#options.clock.random() / 2)
    // Who keeps asking for nothing is still not asked more than once a second.
    const wait = asked === undefined ? growing : this.#limits === 0 ? asked : Math.max(asked, 1000)
    this.#limits++
    this.#stop(wait, 'limited')
  }

  /** Begins a pause, or makes it longer. */
  #stop(ms: number, why: Pause['why']): void {
    const now = this.#now()
    const until = now + ms
    const before = this.#pause && this.#pause.until > now ? this.#pause : undefined
    if (before && before.until >= until) return
    this.#waited += until - (before?.until ?? now)
    this.#pause = { until, why }
    if (!before) this.#generation++
    this.#isHalfOpen = true
    // A few milliseconds more are no news.
    if (!before || until - before.until >= 1000) this.#options.onPause?.(this.#pause)
  }

  #go(): void {
    if (!this.#pause) return
    this.#pause = undefined
    this.#options.onGo?.()
  }

  #tooLong({ until, why }: Pause): Failure {
    const asker = why === 'limited' ? this.#asker : undefined
    return pausedTooLong({ until, why, waited: this.#waited, now: this.#now(), asker })
  }
}

/**
 * The failure of a pause that would be longer than the maximum wait. Times are milliseconds.
 *
 * @param pause.waited all the waiting that would be needed, what has passed of it included
 * @param pause.asker the answer that asked for it, where one did
 */
function pausedTooLong(pause: {
  until: number
  why: 'limited' | 'quota'
  waited: number
  now: number
  asker: Failure | undefined
}): Failure {
  const { until, why, waited, now, asker } = pause
  const message = asker?.message ?? (why === 'quota' ? 'the quota is used up' : 'the service is rate limited')
  return new Failure('rate_limited', message, {
    ...(asker ? { code: asker.code, details: asker.details, cause: asker } : {}),
    ...(asker?.status === undefined ? {} : { status: asker.status }),
    ...(asker?.request === undefined ? {} : { request: asker.request }),
    ...helpFor(until - now, until, waited),
  })
}

function helpFor(left: number, until: number, waited: number): Help {
  if (left > longestPlan) return { hint: 'The service asks to wait for more than a year.' }
  const total = waited > longestWait ? null : waited
  return { advice: [{ code: 'longer_total_wait', ms: left, until: new Date(until).toISOString(), total }] }
}
