import { mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { mapInOrder, runRows } from '../../../src/bulk/send/concurrency.ts'
import { ServiceHealth } from '../../../src/bulk/send/send-change.ts'
import { SpentQuota } from '../../../src/bulk/send/spent-quota.ts'
import { estimateDuration, Throttle, type ThrottleOptions } from '../../../src/bulk/send/throttle.ts'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import type { ClientEvent } from '../../../src/client/client-event.ts'
import { Failure, type FailureKind, type FailureOptions } from '../../../src/contract/failure.ts'
import type { Clock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import type { Pause } from '../../../src/view/run-progress.ts'
import { failureOf, reasonOf } from '../../client/capture.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

const hour = 3_600_000

interface Scene {
  limit?: number
  /** Milliseconds. The first window begins with the service. */
  window?: number
  /** The headers of a response about the quota. None by default. */
  headers?: (quota: { limited: boolean; remaining: number; reset: number }) => Record<string, string>
  /** The duration of a request in milliseconds. */
  latency?: () => number
  random?: () => number
  throttle?: Partial<ThrottleOptions>
}

/** A service with a quota, behind the events of a client, on the clock of a test. */
class LimitedService {
  taken = 0
  refused = 0
  mostAtOnce = 0
  /** When each request arrived, in milliseconds since the service began. */
  readonly arrivals: number[] = []
  readonly #clock: Clock
  readonly #scene: Scene
  readonly #observe: (event: ClientEvent) => void
  readonly #start: number
  #window = -1
  #used = 0
  #atOnce = 0

  constructor(clock: Clock, scene: Scene, observe: (event: ClientEvent) => void) {
    this.#clock = clock
    this.#scene = scene
    this.#observe = observe
    this.#start = clock.now()
  }

  get elapsed(): number {
    return this.#clock.now() - this.#start
  }

  /** Sends one request. */
  request = async (): Promise<void> => {
    const { limit = 100, window = hour, headers, latency } = this.#scene
    const about = { method: 'POST', url: 'https://chat.example/v1/users', attempt: 1 }
    this.#observe({ ...about, type: 'request' })
    this.#atOnce++
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce)
    this.arrivals.push(this.elapsed)
    const number = Math.floor(this.elapsed / window)
    if (number !== this.#window) this.#used = 0
    this.#window = number
    const limited = this.#used >= limit
    if (limited) this.refused++
    else this.taken++
    if (!limited) this.#used++
    const quota = { limited, remaining: limit - this.#used, reset: (number + 1) * window - this.elapsed }
    const said = headers?.(quota) ?? {}
    await this.#clock.sleep(latency?.() ?? 20)
    this.#atOnce--
    const status = limited ? 429 : 200
    this.#observe({ ...about, type: 'response', status, statusText: '', limits: said, elapsed: 20 })
    if (limited) throw new Failure('rate_limited', 'Rate limit exceeded', { status })
  }
}

/** In headers, a reset is in whole seconds. */
const rateLimitHeaders: NonNullable<Scene['headers']> = ({ remaining, reset }) => ({
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(Math.ceil(reset / 1000)),
})

const retryAfter: NonNullable<Scene['headers']> = ({ limited, reset }) =>
  (limited ? { 'retry-after': String(Math.ceil(reset / 1000)) } : {}) as Record<string, string>

/** The throttle of a resumed import: 10 requests in 5 s, some of which an earlier run has used `ago` ms ago. */
function resumed(home: string, clock: SteppedClock, requests: number, ago: number): Throttle {
  const directories = new Directories({ XDG_STATE_HOME: home })
  const spent = new SpentQuota({ directories, service: 'https://chat.example/', clock })
  clock.pass(-ago)
  for (let count = 0; count < requests; count++) spent.add()
  clock.pass(ago)
  return new Throttle({
    clock,
    maxWait: 0,
    signal: new AbortController().signal,
    quota: { requests: 10, window: 5000 },
    spent,
  })
}

function stage(scene: Scene) {
  const clock = new SteppedClock(scene.random)
  const pauses: Pause[] = []
  const goes: number[] = []
  const throttle: Throttle = new Throttle({
    clock,
    maxWait: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    onPause: (pause) => pauses.push(pause),
    onResume: () => goes.push(clock.now()),
    ...scene.throttle,
  })
  const service = new LimitedService(clock, scene, (event) => throttle.observe(event))
  /** Sends this many requests by 8 workers, or as many as given. */
  const send = async (requests: number, concurrency = 8) => {
    const { signal } = new AbortController()
    const rows = Array.from({ length: requests })
    const work = () => throttle.through(service.request)
    const ended = await clock.run(runRows(rows, { concurrency, signal }, work))
    if (ended !== undefined) throw ended
  }
  return { clock, throttle, service, pauses, goes, send }
}

describe('the throttle of an import', () => {
  const home = perTest(makeEmptyDirectory)

  describe('for a service with a window of an hour', () => {
    it('causes no 429 if responses have the remaining quota', async () => {
      const { service, pauses, send } = stage({ headers: rateLimitHeaders })
      await send(450)
      expect(service).to.include({ taken: 450, refused: 0 })
      expect(service.elapsed).to.be.within(4 * hour, 4 * hour + 20_000)
      expect(pauses.map(({ why }) => why)).to.deep.equal(['quota', 'quota', 'quota', 'quota'])
    })

    it('causes at most one 429 per worker and window if only a 429 has the wait', async () => {
      const { service, pauses, goes, send } = stage({ headers: retryAfter })
      await send(450)
      expect(service.taken).to.equal(450)
      expect(service.refused).to.be.at.most(4 * 8)
      expect(service.elapsed).to.be.within(4 * hour, 4 * hour + 20_000)
      expect(pauses).to.have.length(4)
      expect(goes).to.have.length(4)
    })

    it('sends one request at a time, with exponential delay, if no response has the wait', async () => {
      const { service, send } = stage({})
      await send(250)
      expect(service.taken).to.equal(250)
      // Two windows: in each, 8 requests at the same time, and then about one request in 22.5 s.
      expect(service.refused).to.be.within(2 * 150, 2 * 180)
      expect(service.elapsed).to.be.within(2 * hour, 2 * hour + 60_000)
      const waits = service.arrivals.slice(108, 116).map((at, index, all) => at - (all[index - 1] ?? at))
      expect(waits.slice(1)).to.deep.equal(
        [1500, 3000, 6000, 12000, 22500, 22500, 22500].map((ms) => ms + 20),
      )
    })

    it('sends all requests if responses arrive in another order', async () => {
      let seed = 1
      const random = () => {
        seed = (seed * 16_807) % 2_147_483_647
        return seed / 2_147_483_647
      }
      const { service, send } = stage({ headers: rateLimitHeaders, latency: () => 5 + 300 * random() })
      await send(330, 16)
      expect(service).to.include({ taken: 330, refused: 0 })
    })
  })

  it('uses the whole quota that responses report, and does not wait for more', async () => {
    const { service, pauses, send } = stage({ headers: rateLimitHeaders })
    await send(100)
    expect(service).to.include({ taken: 100, mostAtOnce: 8 })
    expect(service.elapsed).to.be.below(2000)
    expect(pauses).to.deep.equal([])
  })

  it('sends one request first after a pause, and the others when it is answered', async () => {
    const { service, send } = stage({ limit: 8, window: 10_000, headers: retryAfter })
    await send(16)
    const second = service.arrivals.filter((at) => at >= 10_000)
    expect(second.filter((at) => at === second[0])).to.have.length(1)
    expect(second.filter((at) => at === (second[0] ?? 0) + 20)).to.have.length(7)
  })

  it('sends another request first if the first one got no response', async () => {
    const { clock, throttle } = stage({})
    const broken = new Failure('unreachable', 'gone')
    await clock.run(throttle.through(answers(limited, undefined)))
    const outcomes = [throttle.through(answers(limited, broken)), throttle.through(answers(undefined))]
    const settled = await clock.run(Promise.allSettled(outcomes))
    expect(settled.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled'])
  })

  it('does not end a pause because of a response to an earlier request', async () => {
    const { clock, throttle } = stage({})
    let [atOnce, most] = [0, 0]
    const counted = async () => {
      most = Math.max(most, ++atOnce)
      await clock.sleep(50)
      atOnce--
    }
    const early = throttle.through(() => clock.sleep(300))
    await Promise.resolve()
    answered(throttle, 429, {})
    await clock.run(early)
    const late = [throttle.through(counted), throttle.through(counted)]
    await clock.run(Promise.race(late))
    expect(most).to.equal(1)
    await clock.run(Promise.all(late))
  })

  it('extends a pause if another response says so, and reports that', async () => {
    const { clock, throttle, pauses } = stage({})
    const begin = clock.now()
    answered(throttle, 429, { 'retry-after': '5' })
    answered(throttle, 429, { 'retry-after': '30' })
    answered(throttle, 429, {})
    answered(throttle, 429, { 'retry-after': '10' })
    await clock.run(throttle.through(answers(undefined)))
    expect(clock.now() - begin).to.equal(30_000)
    expect(pauses.map(({ until }) => until - begin)).to.deep.equal([5000, 30_000])
  })

  describe('with --max-wait', () => {
    it('fails if a pause would be longer, and suggests a sufficient value', async () => {
      const { service, send } = stage({ headers: retryAfter, throttle: { maxWait: 60_000 } })
      const failure = await failureOf(send(150))
      expect(failure).to.include({ kind: 'rate_limited', status: 429, message: 'Rate limit exceeded' })
      expect(hintOf(failure)).to.match(
        /^Try again in 1 h \(at 2026-03-01T13:00:00Z\), or wait for it with: --max-wait 1h$/,
      )
      expect(service.taken).to.equal(100)
      expect(service.elapsed).to.be.below(1000)
    })

    it('adds up the waits between two successful responses', async () => {
      const { service, send } = stage({ throttle: { maxWait: 60_000 } })
      const failure = await failureOf(send(150))
      // In addition to the 8 at the same time: 0.75, 1.5, 3, 6, 12, and 22.5 s are less than a minute; another 22.5 s is not.
      expect(service.refused).to.equal(8 + 6)
      expect(hintOf(failure)).to.match(/--max-wait 69s/)
    })

    it('starts a new sum after each successful response', async () => {
      const scene = { limit: 10, window: 50_000, headers: retryAfter }
      const { service, send } = stage({ ...scene, throttle: { maxWait: 60_000 } })
      await send(100)
      expect(service.taken).to.equal(100)
    })

    it('limits a pause for the quota too', async () => {
      const quota = { requests: 20, window: hour }
      const { service, send } = stage({ throttle: { maxWait: 60_000, quota } })
      const failure = await failureOf(send(21))
      expect(failure).to.include({ kind: 'rate_limited', message: 'the quota is used up' })
      expect(hintOf(failure)).to.match(/--max-wait 1h/)
      expect(service.taken).to.equal(20)
    })
  })

  describe('with --quota', () => {
    it('counts windows from their first request', async () => {
      const quota = { requests: 50, window: 60_000 }
      const { service, send } = stage({ limit: 1000, window: 1000, throttle: { quota } })
      await send(220)
      expect(service).to.include({ taken: 220, refused: 0 })
      for (let index = 50; index < service.arrivals.length; index++) {
        const first = service.arrivals[Math.floor(index / 50) * 50 - 50] ?? 0
        expect((service.arrivals[index] ?? 0) - first).to.be.at.least(60_000)
      }
      expect(service.elapsed).to.be.within(4 * 60_000, 4 * 60_000 + 5000)
    })

    it('counts the requests of an earlier run and the retries of the client', async () => {
      const clock = new SteppedClock()
      const throttle = resumed(home.path, clock, 6, 1000)
      expect(throttle.known).to.deep.equal({ limit: 10, remaining: 4, reset: 4000, window: 5000 })
      await throttle.through(answers(undefined))
      throttle.observe({ type: 'request', method: 'GET', url: 'https://chat.example/', attempt: 2 })
      expect(throttle.known).to.include({ remaining: 2 })
    })

    it('follows the window that the service reports', async () => {
      // The window of the service began 50 minutes before the import.
      const headers: Scene['headers'] = ({ remaining, reset }) => ({
        'ratelimit-policy': '"hour";q=100;w=3600, "minute";q=1000;w=60',
        ratelimit: `"hour";r=${remaining};t=${Math.ceil(reset / 1000)}, "minute";r=900;t=7`,
      })
      const quota = { requests: 50, window: hour }
      const { clock, throttle, service, pauses, send } = stage({ headers, throttle: { quota } })
      await clock.run(clock.sleep(50 * 60_000))
      const begin = clock.now()
      await send(120)
      expect(service).to.include({ taken: 120, refused: 0 })
      expect(pauses.map(({ until }) => Math.round((until - begin) / 60_000))).to.deep.equal([10, 70])
      expect(throttle.known).to.include({ limit: 50, window: hour, remaining: 30 })
    })

    it('does not start a new window because of a window of another length or a late response', async () => {
      const { clock, throttle } = stage({ throttle: { quota: { requests: 10, window: hour } } })
      await throttle.through(answers(undefined))
      const minute = { 'ratelimit-policy': '"m";q=60;w=60', ratelimit: '"m";r=59;t=30' }
      for (const headers of [
        minute,
        { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '30' },
        { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '9999' },
        { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '1' },
      ]) {
        answered(throttle, 200, headers)
        await clock.run(clock.sleep(40_000))
      }
      expect(throttle.known).to.include({ limit: 10, remaining: 9, reset: hour - 160_000 })
    })

    it('uses the headers if they leave fewer requests', async () => {
      const { clock, throttle } = stage({ throttle: { quota: { requests: 1000, window: hour } } })
      await throttle.through(answers(undefined))
      answered(throttle, 200, { 'ratelimit-policy': '"hour";q=100;w=3600', ratelimit: '"hour";r=37;t=600' })
      expect(throttle.known).to.deep.include({ limit: 100, window: hour, remaining: 37, reset: 600_000 })
      await clock.run(clock.sleep(600_000))
      expect(throttle.known).to.include({ limit: 100 })
    })

    it('is not used up by a window that has ended', () => {
      const clock = new SteppedClock()
      const throttle = resumed(home.path, clock, 10, 5000)
      expect(throttle.known).to.deep.include({ limit: 10, remaining: 10, window: 5000 })
    })
  })

  it('knows the quota in headers until its window ends', async () => {
    const { clock, throttle } = stage({})
    expect(throttle.known).to.equal(undefined)
    const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '30' }
    answered(throttle, 200, headers)
    await clock.run(clock.sleep(10_000))
    expect(throttle.known).to.deep.include({ limit: 100, remaining: 7, reset: 20_000 })
    await clock.run(clock.sleep(20_000))
    expect(throttle.known).to.deep.include({ limit: 100 })
    answered(throttle, 200, { 'ratelimit-policy': '"hour";q=50;w=3600' })
    expect(throttle.known).to.deep.include({ limit: 50, window: hour })
  })

  describe('for a service that is down and says until when', () => {
    const down = new Failure('server_error', 'closed for repair', { status: 503 })
    const tell = (throttle: Throttle) => {
      answered(throttle, 503, { 'retry-after': '20' })
      return down
    }

    it('sends the request again after that time', async () => {
      const { clock, throttle } = stage({ throttle: { maxWait: 60_000 } })
      const begin = clock.now()
      const told = () => tell(throttle)
      await clock.run(throttle.through(answers(told, told, undefined)))
      expect(clock.now() - begin).to.equal(40_000)
    })

    it('does not exceed --max-wait', async () => {
      const { clock, throttle } = stage({ throttle: { maxWait: 60_000 } })
      expect(await failureOf(clock.run(throttle.through(answers(() => tell(throttle)))))).to.equal(down)
    })

    it('does not send a request again whose outcome is unknown', async () => {
      const { throttle } = stage({})
      const unknown = new Failure('server_error', 'closed', { status: 503, isOutcomeUnknown: true })
      const attempt = answers(() => tell(throttle) && unknown, undefined)
      expect(await failureOf(throttle.through(attempt))).to.equal(unknown)
    })
  })

  it('ends every wait with the reason of an abort', async () => {
    const controller = new AbortController()
    const { clock, throttle } = stage({ throttle: { signal: controller.signal } })
    const all = Promise.all([1, 2, 3].map(() => reasonOf(throttle.through(answers(limited)))))
    const ended = clock.sleep(500).then(() => controller.abort('enough'))
    expect(await clock.run(all)).to.deep.equal(['enough', 'enough', 'enough'])
    await ended
    expect(await reasonOf(throttle.through(answers(undefined)))).to.equal('enough')
  })
})

const limited = new Failure('rate_limited', 'Rate limit exceeded', { status: 429 })

/** A function with one outcome for each call, and the last one for all further calls: a failure to throw, or none. */
function answers(...outcomes: (Failure | undefined | (() => Failure))[]): () => Promise<void> {
  let index = 0
  return async () => {
    const outcome = outcomes[Math.min(index++, outcomes.length - 1)]
    const failure = typeof outcome === 'function' ? outcome() : outcome
    if (failure) throw failure
  }
}

/** Reports a response, as the client does. */
function answered(throttle: Throttle, status: number, headers: Record<string, string>): void {
  const about = { method: 'GET', url: 'https://chat.example/', attempt: 1, statusText: '', elapsed: 1 }
  throttle.observe({ ...about, type: 'response', status, limits: headers })
}

const service = 'https://chat.example/'
const now = Date.UTC(2026, 0, 2, 12)

describe('the quota that earlier runs have used', () => {
  const home = perTest(makeEmptyDirectory)
  const directories = () => new Directories({ XDG_STATE_HOME: home.path })
  const directory = () => join(directories().state, 'quota')

  /** Writes the requests of a run at these times. */
  function plant(name: string, times: readonly number[], of = service): void {
    mkdirSync(directory(), { recursive: true })
    const lines = times.map((at) => ({ service: of, at }))
    const path = join(directory(), name)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, now / 1000, now / 1000)
  }

  /** A run with a quota of 100 requests in this window that begins now. */
  function begin(window = hour, clock = new SteppedClock(() => 0, now)): Throttle {
    const spent = new SpentQuota({ directories: directories(), service, clock })
    const { signal } = new AbortController()
    return new Throttle({ clock, maxWait: 0, signal, quota: { requests: 100, window }, spent })
  }
  const read = (window = hour) => {
    const { remaining = 0, reset } = begin(window).known ?? {}
    return reset && { since: now + reset - window, requests: 100 - remaining }
  }

  it('is not exceeded by runs at the same time', async () => {
    const { signal } = new AbortController()
    let sent = 0
    const send = async () => void sent++
    const runs = [begin(), begin()].map((throttle) =>
      runRows(Array(80), { concurrency: 8, signal }, () => throttle.through(send)),
    )
    const ended = await Promise.all(runs)
    expect(sent).to.equal(100)
    expect(ended.map((error) => Object(error).kind)).to.include('rate_limited')
    expect(begin().known).to.include({ remaining: 0 })
  })

  it('includes all runs to the service in the current window', () => {
    plant('a.jsonl', [now - 3 * hour, now - hour / 2, now - 1000])
    plant('b.jsonl', [now - hour / 4])
    plant('c.jsonl', [now - 2000], 'https://other.example/')
    expect(read()).to.deep.equal({ since: now - hour / 2, requests: 3 })
    expect(read(hour / 3)).to.deep.equal({ since: now - 1000, requests: 1 })
    expect(read(500)).to.equal(undefined)
  })

  it('does not include a run whose record another run removes at the same time', () => {
    plant('a.jsonl', [now - 1000])
    symlinkSync(join(directory(), 'nowhere'), join(directory(), 'b.jsonl'))
    expect(read()).to.deep.equal({ since: now - 1000, requests: 1 })
  })

  it('is not kept for longer than the maximum window, also by runs without a quota', () => {
    plant('old.jsonl', [now - 1000])
    plant('new.jsonl', [now + hour])
    utimesSync(join(directory(), 'new.jsonl'), (now + hour) / 1000, (now + hour) / 1000)
    const clock = new SteppedClock(() => 0, now + 24 * hour)
    const spent = new SpentQuota({ directories: directories(), service, clock })
    spent.add()
    spent.add()
    expect(readdirSync(directory())).to.have.length(2).and.contain('new.jsonl')
  })

  it('is the same however the requests are distributed over runs', () => {
    const requests = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 5 * hour })), {
      minLength: 1,
      maxLength: 40,
    })
    fc.assert(
      fc.property(requests, (all) => {
        for (const run of [0, 1, 2, 3]) {
          const times = all.filter(([of]) => of === run).map(([, ago]) => now - ago)
          rmSync(join(directory(), `${run}.jsonl`), { force: true })
          if (times.length > 0) plant(`${run}.jsonl`, times)
        }
        let window: { since: number; requests: number } | undefined
        for (const at of all.map(([, ago]) => now - ago).sort((one, other) => one - other)) {
          if (window && at < window.since + hour) window.requests++
          else window = { since: at, requests: 1 }
        }
        const open = window && window.since + hour > now ? window : undefined
        expect(read()).to.deep.equal(open)
      }),
      { numRuns: 60 },
    )
  })
})

describe('the estimated duration of an import', () => {
  const minute = 60_000
  const hourly = { limit: 100, window: hour }
  const cases: [string, [number, number, Parameters<typeof estimateDuration>[0]['quota']], number][] = [
    ['depends on the rate', [500, 10, undefined], 50_000],
    ['is zero without requests', [0, 0, undefined], 0],
    ['has no pause if the quota suffices', [100, 10, hourly], 10_000],
    ['includes one pause', [150, 10, hourly], hour + 5000],
    ['includes whole windows', [1000, 10, hourly], 9 * hour + 10_000],
    [
      'includes the rest of the current window',
      [150, 10, { limit: 100, remaining: 20, reset: minute }],
      minute + hour + 3000,
    ],
    [
      'includes a pause at the start if the quota is used up',
      [10, 10, { limit: 100, remaining: 0, reset: minute }],
      61_000,
    ],
    ['assumes a window of an hour', [101, 10, { limit: 100 }], hour + 100],
    [
      'needs no limit if the headers have only the remaining requests',
      [30, 10, { remaining: 10, reset: 5000 }],
      7000,
    ],
    ['has no pause if the rate stays within the quota', [600, 1, { limit: 100, window: minute }], 600_000],
    ['ignores a reset without a limit', [30, 10, { reset: 5000 }], 3000],
  ]
  for (const [name, [requests, perSecond, quota], expected] of cases)
    it(name, () => expect(estimateDuration({ requests, perSecond, quota })).to.be.closeTo(expected, 1))
})

function fail(health: ServiceHealth, times: number, kind: FailureKind, options: FailureOptions = {}): void {
  for (let index = 0; index < times; index++) health.failed(new Failure(kind, 'failed', options))
}

describe('an import with failing requests', () => {
  for (const kind of ['unauthorized', 'unreachable', 'timeout', 'tls', 'rate_limited', 'storage'] as const) {
    it(`stops at the first ${kind}`, () => {
      const first = new Failure(kind, 'failed')
      expect(thrownFailure(() => new ServiceHealth().failed(first))).to.equal(first)
    })
  }

  for (const [kind, options] of [
    ['unreachable', { isOutcomeUnknown: true }],
    ['timeout', { isOutcomeUnknown: true }],
    ['server_error', { status: 500 }],
    ['server_error', { status: 502, isOutcomeUnknown: true }],
    ['truncated', { isOutcomeUnknown: true }],
  ] as const) {
    it(`stops at the 10th ${kind}${'isOutcomeUnknown' in options ? ' with an unknown outcome' : ''} in a row`, () => {
      const health = new ServiceHealth()
      fail(health, 9, kind, options)
      health.succeeded()
      fail(health, 9, kind, options)
      fail(health, 1, 'rejected')
      fail(health, 9, kind, options)
      expect(thrownFailure(() => fail(health, 1, kind, options))).to.have.property('kind', kind)
    })
  }

  it('stops at the 20th 403 in a row, unless a request has succeeded', () => {
    const health = new ServiceHealth()
    fail(health, 19, 'forbidden')
    expect(thrownFailure(() => fail(health, 1, 'forbidden'))).to.have.property('kind', 'forbidden')
    const other = new ServiceHealth()
    other.succeeded()
    fail(other, 100, 'forbidden')
  })

  it('continues after any fault of a row', () => {
    const health = new ServiceHealth()
    for (const kind of ['rejected', 'conflict', 'not_found', 'refused', 'invalid_response'] as const)
      fail(health, 100, kind)
  })
})

async function collect<T>(results: AsyncIterable<T>, onEach?: () => Promise<void>): Promise<T[]> {
  const all: T[] = []
  for await (const result of results) {
    all.push(result)
    await onEach?.()
  }
  return all
}

describe('mapping items concurrently and in order', () => {
  it('keeps the order, the concurrency, and the maximum distance, with any delays', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ source: fc.nat(5), work: fc.nat(50), taker: fc.nat(20) }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 12 }),
        fc.boolean(),
        async (delays, concurrency, isAsync) => {
          const clock = new SteppedClock()
          let [running, mostRunning, begun, taken, farthest] = [0, 0, 0, 0, 0]
          const items = async function* () {
            for (const [index, { source }] of delays.entries()) {
              if (source > 0) await clock.sleep(source)
              yield index
            }
          }
          const work = async (index: number) => {
            mostRunning = Math.max(mostRunning, ++running)
            farthest = Math.max(farthest, ++begun - taken)
            await clock.sleep(delays[index]?.work ?? 0)
            running--
            return index
          }
          const results = mapInOrder(isAsync ? items() : delays.keys(), concurrency, work)
          const all = await clock.run(collect(results, () => clock.sleep(delays[taken++]?.taker ?? 0)))
          expect(all).to.deep.equal([...delays.keys()])
          expect(mostRunning).to.be.at.most(concurrency)
          // The result that has just been passed on does not count as taken yet.
          expect(farthest).to.be.at.most(4 * concurrency + 1)
        },
      ),
      { numRuns: 200 },
    ))

  it('runs as many at a time as concurrency says', async () => {
    const clock = new SteppedClock()
    const begin = clock.now()
    await clock.run(collect(mapInOrder(Array(40).keys(), 8, () => clock.sleep(100))))
    expect(clock.now() - begin).to.equal(500)
  })

  it('yields the results before a failure, and starts nothing after it', async () => {
    const clock = new SteppedClock()
    const begun: number[] = []
    const seen: number[] = []
    const results = mapInOrder(Array(100).keys(), 4, async (item) => {
      begun.push(item)
      await clock.sleep(item === 2 ? 10 : 50)
      if (item === 2) throw new Error('two')
      return item
    })
    const reading = (async () => {
      for await (const result of results) seen.push(result)
    })()
    expect(await reasonOf(clock.run(reading)))
      .to.be.an('error')
      .with.property('message', 'two')
    expect(seen).to.deep.equal([0, 1])
    expect(begun).to.deep.equal([0, 1, 2, 3])
  })

  it('rethrows a failure of the source after the results before it', async () => {
    const source = (async function* () {
      yield 1
      yield 2
      throw new Error('broken')
    })()
    const seen: number[] = []
    const reading = (async () => {
      for await (const result of mapInOrder(source, 3, async (item) => item)) seen.push(result)
    })()
    expect(await reasonOf(reading)).to.have.property('message', 'broken')
    expect(seen).to.deep.equal([1, 2])
  })

  it('yields finished results while the source waits', async () => {
    const gate = Promise.withResolvers<void>()
    const source = (async function* () {
      yield 1
      await gate.promise
      yield 2
    })()
    const results = mapInOrder(source, 3, async (item) => item)[Symbol.asyncIterator]()
    expect(await results.next()).to.deep.equal({ done: false, value: 1 })
    gate.resolve()
    expect(await results.next()).to.deep.equal({ done: false, value: 2 })
    expect(await results.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('does not wait for a slow source after a failure', async () => {
    const source = (async function* () {
      yield 1
      await new Promise(() => {})
    })()
    const results = mapInOrder(source, 3, async () => {
      await turn()
      throw new Error('one')
    })
    expect(await reasonOf(collect(results))).to.have.property('message', 'one')
  })

  it('closes the source when the reader stops', async () => {
    let isClosed = false
    const source = (function* () {
      try {
        for (let index = 0; ; index++) yield index
      } finally {
        isClosed = true
      }
    })()
    for await (const result of mapInOrder(source, 2, async (item) => item)) if (result === 5) break
    expect(isClosed).to.equal(true)
  })
})

const { signal } = new AbortController()

describe('running the rows of an import', () => {
  it('runs each row once, in order, with limited concurrency', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(50), { maxLength: 40 }),
        fc.integer({ min: 1, max: 10 }),
        async (delays, concurrency) => {
          const clock = new SteppedClock()
          const begun: number[] = []
          let [running, most] = [0, 0]
          const work = async (index: number) => {
            begun.push(index)
            most = Math.max(most, ++running)
            await clock.sleep(delays[index] ?? 0)
            running--
          }
          await clock.run(runRows(delays.keys(), { concurrency, signal }, work))
          expect(begun).to.deep.equal([...delays.keys()])
          expect(running).to.equal(0)
          expect(most).to.be.at.most(concurrency)
        },
      ),
    ))

  it('starts the next row as soon as one worker is free', async () => {
    const clock = new SteppedClock()
    const begin = clock.now()
    const delays = [1000, ...Array<number>(10).fill(100)]
    await clock.run(runRows(delays, { concurrency: 2, signal }, (delay) => clock.sleep(delay)))
    expect(clock.now() - begin).to.equal(1000)
  })

  it('stops at a failure, after the running rows have finished', async () => {
    const clock = new SteppedClock()
    const done: number[] = []
    const work = async (row: number) => {
      await clock.sleep(row === 4 ? 10 : 100)
      if (row === 4) throw new Error('four')
      done.push(row)
    }
    const ended = await clock.run(runRows([...Array(30).keys()], { concurrency: 3, signal }, work))
    expect(ended).to.have.property('message', 'four')
    expect(done).to.deep.equal([0, 1, 2, 3, 5])
  })

  it('stops at an abort, and returns its reason', async () => {
    const abort = new AbortController()
    const done: number[] = []
    const work = async (row: number) => {
      done.push(row)
      if (row === 2) abort.abort('enough')
    }
    expect(await runRows([1, 2, 3, 4], { concurrency: 1, signal: abort.signal }, work)).to.equal('enough')
    expect(done).to.deep.equal([1, 2])
  })
})
