import type { ClientEvent } from '../../client/client-event.ts'
import { readWait, readWindows } from '../../client/response/rate-limit-headers.ts'
import { type ConfiguredQuota, usualWindow } from '../../config/quota.ts'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import type { Pause } from '../../view/run-progress.ts'
import { ChangeNotifier } from './concurrency.ts'
import { type KnownQuota, QuotaCount, QuotaHeaders, stricterOf } from './known-quota.ts'
import type { SpentQuota } from './spent-quota.ts'

/** Maximum value of `--max-wait` in ms: the maximum delay of a Node timer, less an hour. */
const maxSettableWait = 2 ** 31 - 1 - 3_600_000

export interface ThrottleOptions {
  clock: Clock
  /** In ms; Infinity for no limit. */
  maxWait: number
  signal: AbortSignal
  quota?: ConfiguredQuota | undefined
  /** The requests of all runs, which count against the quota (default: only those of this throttle count). */
  spent?: SpentQuota | undefined
  /** Called again if a pause becomes longer. */
  onPause?(pause: Pause): void
  onResume?(): void
}

/**
 * Keeps all workers within a quota. A 429, or an exhausted quota, pauses all of them. After the pause, one
 * request is sent as a probe. The others follow when its response is not 429.
 */
export class Throttle {
  readonly #options: ThrottleOptions
  readonly #count: QuotaCount | undefined
  readonly #headers = new QuotaHeaders()
  readonly #changed = new ChangeNotifier()
  #pause: Pause | undefined
  /** Incremented by each pause, to recognize responses to requests from before it. */
  #generation = 0
  #isHalfOpen = false
  #isProbing = false
  #inFlight = 0
  /** Numbers of 429 responses, and ms waited, since the last response with another status. */
  #limitedCount = 0
  #waited = 0
  /** The failure that caused the last pause. */
  #pauseCause: Failure | undefined

  constructor(options: ThrottleOptions) {
    this.#options = options
    this.#count = options.quota && new QuotaCount(options.quota)
    this.#countNew()
    options.signal.addEventListener('abort', () => this.#changed.notify(), { once: true })
  }

  /**
   * Runs `attempt` when a request may be sent. After a 429, which has no effect, runs it again after a pause.
   * @param onLimited awaited after each 429, before the pause
   * @throws Failure `rate_limited` if a pause would be longer than `maxWait`; the signal's reason; what
   *   `attempt` throws
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
          this.#pauseCause = failure
          // The response has not started a pause yet: the events of the client were not observed.
          if (pass.generation === this.#generation) this.#limited(undefined)
          await onLimited?.()
          continue
        }
        // A 503 may have a Retry-After, which has started a pause.
        const wait = (this.#pause?.until ?? 0) - this.#now()
        if (!failure || status !== 503 || failure.isOutcomeUnknown || wait <= 0 || wait > patience)
          throw error
        this.#pauseCause = failure
        patience -= wait
      }
    }
  }

  /** Receives the client's events. The client has `maxWait` 0, so that it leaves every 429 to the throttle. */
  observe(event: ClientEvent): void {
    // Retries by the client do not go through `#enter`.
    if (event.type === 'request' && event.attempt > 1) this.#take()
    if (event.type !== 'response') return
    this.#headers.read(event.limits, this.#now())
    this.#count?.align(readWindows(event.limits, this.#now()), this.#now())
    if (event.status === 429) this.#limited(readWait(event.limits, this.#now()))
    if (event.status === 503 && event.limits['retry-after'] !== undefined) {
      const wait = readWait(event.limits, this.#now())
      if (wait) this.#stop(wait, 'limited')
    }
    this.#changed.notify()
  }

  /** The configured quota or the one in the headers of responses: the stricter values of both. */
  get known(): KnownQuota | undefined {
    const [configured, reported] = [this.#count?.known(this.#now()), this.#headers.known(this.#now())]
    return configured && reported ? stricterOf(configured, reported) : (configured ?? reported)
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
      this.#resume()
      if (this.#isHalfOpen && this.#isProbing) {
        await this.#changed.nextChange()
        continue
      }
      const rest = this.#exhaustedFor()
      if (rest > 0) {
        this.#stop(rest, 'quota')
        continue
      }
      if (!this.#headers.hasRoom(this.#inFlight, this.#now())) {
        await this.#changed.nextChange()
        continue
      }
      const pass = { generation: this.#generation, isProbe: this.#isHalfOpen }
      this.#inFlight++
      this.#isProbing = pass.isProbe
      let isReserved = false
      try {
        isReserved = await this.#reserve()
      } finally {
        if (!isReserved) this.#leave(pass, false)
      }
      if (isReserved) return pass
    }
  }

  /** Takes one request of the quota, except if other runs have used it up. */
  async #reserve(): Promise<boolean> {
    const { spent } = this.#options
    let isFree = true
    const reserve = () => {
      this.#countNew()
      isFree = this.#exhaustedFor() === 0
      if (isFree) this.#take()
    }
    if (spent && this.#count) await spent.lock(reserve)
    else this.#take()
    return isFree
  }

  #take(): void {
    const { spent } = this.#options
    if (spent) spent.add()
    else this.#count?.take(this.#now())
    this.#countNew()
  }

  /** Counts the requests that this run and others have added. */
  #countNew(): void {
    const now = this.#now()
    // A time is in the future if the system clock was set back.
    if (this.#count)
      for (const at of this.#options.spent?.takeNew() ?? []) this.#count.take(Math.min(at, now))
  }

  #exhaustedFor(): number {
    return Math.max(this.#count?.exhaustedFor(this.#now()) ?? 0, this.#headers.exhaustedFor(this.#now()))
  }

  /** @param isAccepted whether the response had another status than 429 */
  #leave(pass: { generation: number; isProbe: boolean }, isAccepted: boolean): void {
    this.#inFlight--
    if (pass.isProbe) this.#isProbing = false
    if (isAccepted && pass.generation === this.#generation) {
      this.#isHalfOpen = false
      this.#limitedCount = 0
      this.#waited = 0
    }
    this.#changed.notify()
  }

  /** @param requested wait in ms, if the response contained one */
  #limited(requested: number | undefined): void {
    const now = this.#now()
    if (this.#pause && this.#pause.until > now) {
      // A response to another request that was in flight before the pause.
      if (requested !== undefined) this.#stop(requested, 'limited')
      return
    }
    const growing = Math.min(30_000, 1000 * 2 ** this.#limitedCount) * (1 - this.#options.clock.random() / 2)
    // A service that repeatedly requests no wait still gets at most one request per second.
    const wait =
      requested === undefined ? growing : this.#limitedCount === 0 ? requested : Math.max(requested, 1000)
    this.#limitedCount++
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
    // A difference of less than a second is not shown.
    if (!before || until - before.until >= 1000) this.#options.onPause?.(this.#pause)
  }

  #resume(): void {
    if (!this.#pause) return
    this.#pause = undefined
    this.#options.onResume?.()
  }

  #tooLong({ until, why }: Pause): Failure {
    const cause = why === 'limited' ? this.#pauseCause : undefined
    const total = this.#waited > maxSettableWait ? null : this.#waited
    const ms = until - this.#now()
    const longer = { code: 'longer_total_wait' as const, ms, until: new Date(until).toISOString(), total }
    const message =
      cause?.message ?? (why === 'quota' ? 'the quota is used up' : 'the service is rate limited')
    const { code, details, status, request } = cause ?? {}
    return new Failure('rate_limited', message, { code, details, status, request, cause, advice: [longer] })
  }
}

/**
 * Estimates the duration of requests in ms, including pauses for the quota.
 * @param what.perSecond rate without pauses
 */
export function estimateDuration({
  requests,
  perSecond,
  quota,
}: {
  requests: number
  perSecond: number
  quota: KnownQuota | undefined
}): number {
  if (requests <= 0) return 0
  const sending = (count: number) => (count * 1000) / perSecond
  const now = quota?.remaining ?? quota?.limit
  if (quota === undefined || now === undefined || requests <= now) return sending(requests)
  const window = quota.window ?? Math.max(usualWindow, quota.reset ?? 0)
  const reset = quota.reset ?? window
  // At a low rate, the window ends before its quota is used up.
  const first = sending(now) > reset ? Math.floor((reset * perSecond) / 1000) : now
  const { limit } = quota
  const left = requests - first
  if (limit === undefined || limit < 1 || sending(limit) > window) return reset + sending(left)
  const pauses = Math.ceil(left / limit) - 1
  return reset + pauses * window + sending(left - pauses * limit)
}
