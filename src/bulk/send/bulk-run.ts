import type { Client } from '../../client/client.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'
import { Failure, type FailureKind } from '../../contract/failure.ts'
import type { Progress, Run } from '../../run/run.ts'
import type { RowCounts } from '../../view/run-progress.ts'
import { runRows } from './concurrency.ts'
import { SpentQuota } from './spent-quota.ts'
import { estimateDuration, Throttle } from './throttle.ts'

const busy: readonly FailureKind[] = ['server_error', 'truncated', 'rate_limited']

/** Whether the service accepted the key. It may refuse the profile of a key that belongs to no user. */
function isKeyAccepted(error: unknown): boolean {
  const kinds: readonly FailureKind[] = ['forbidden', 'not_found', 'rejected', 'conflict']
  if (!(error instanceof Failure)) return false
  // A page with status 200 comes from another program, such as a sign-in page.
  const isPage = error.advice.some(({ code }) => code === 'web_page')
  return kinds.includes(error.kind) || (error.kind === 'invalid_response' && !isPage)
}

/** A client with a throttle, for concurrent requests, and their progress. */
export class BulkRun {
  readonly throttle: Throttle
  /** Number of requests. */
  requests = 0
  readonly #run: Run
  readonly #noun: string
  readonly #controller = new AbortController()
  readonly #ended = new AbortController()
  #isSending = false
  #progress: Progress | undefined

  /**
   * @param options.noun what is counted, in the singular
   * @param options.isCounted whether the requests count for later runs with a quota (default: those with a quota)
   * @param options.patience how long requests in progress may take to finish after an abort, in ms
   */
  constructor(
    run: Run,
    options: { noun: string; quota?: ConfiguredQuota | undefined; isCounted?: boolean; patience?: number },
  ) {
    const { noun, quota, isCounted = quota !== undefined, patience = 4_000 } = options
    const { clock, signal, maxWait } = run
    this.#run = run
    this.#noun = noun
    this.throttle = new Throttle({
      ...{ clock, signal, maxWait, quota },
      spent: isCounted ? new SpentQuota(run) : undefined,
      onPause: (pause) => this.#progress?.pause(pause),
      onResume: () => this.#progress?.resume(),
    })
    const abort = () => this.#controller.abort(signal.reason)
    // The outcome of an interrupted request is unknown.
    const onAbort = () => {
      if (this.#isSending) clock.sleep(patience, this.#ended.signal).then(abort, () => {})
      else abort()
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  }

  connect(): Promise<Client> {
    return this.#run.connectWorkers({
      signal: this.#controller.signal,
      observe: (event) => {
        if (event.type === 'request') this.requests++
        this.throttle.observe(event)
      },
    })
  }

  /**
   * Sends one request that changes nothing, before the confirmation prompt. It checks the credential, and
   * reads the quota from the headers of the response.
   * @param mayBeBusy whether a service that is busy now is no error
   * @returns its duration in ms; undefined if it failed
   */
  async probe(client: Client, mayBeBusy = true): Promise<number | undefined> {
    const { clock } = this.#run
    const startedAt = clock.now()
    try {
      await client.users.profile()
      return clock.now() - startedAt
    } catch (error) {
      // A service that is busy now may be ready when the first row is sent.
      const isBusy = mayBeBusy && error instanceof Failure && busy.includes(error.kind)
      if (!isBusy && !isKeyAccepted(error)) throw error
      return undefined
    }
  }

  /**
   * Begins to show the progress.
   * @param start.rows undefined if the number is not known
   * @param start.perRow average number of requests
   * @param start.isSending whether requests change something
   */
  begin(start: {
    rows: number | undefined
    isSending?: boolean
    counts?: RowCounts
    perRow?: number
  }): Progress {
    const { perRow = 1, ...work } = start
    this.#progress?.end()
    this.#progress = this.#run.progress({
      ...work,
      noun: this.#noun,
      estimate: (left, perSecond) => this.estimate(left * perRow, perSecond * perRow),
    })
    return this.#progress
  }

  /** In ms. */
  estimate(requests: number, perSecond: number): number {
    return estimateDuration({ requests, perSecond, quota: this.throttle.known })
  }

  /**
   * Sends rows concurrently, and counts them.
   * @param send throws the error that should end the run
   * @param kindOf the kind as which a row counts after it
   * @returns the error or abort reason that ended the run early
   */
  sendRows<T>(
    work: Iterable<T>,
    { concurrency, ...start }: { rows: number; concurrency: number; counts: RowCounts; perRow?: number },
    send: (row: T) => Promise<void>,
    kindOf: (row: T) => keyof RowCounts | undefined,
  ): Promise<unknown> {
    const counts = { ...start.counts }
    const progress = this.begin({ ...start, isSending: true })
    const { signal } = this.#run
    return this.whileSending(() =>
      runRows(work, { concurrency, signal }, async (row: T) => {
        try {
          await send(row)
        } finally {
          const kind = kindOf(row)
          if (kind !== undefined) counts[kind]++
          progress.update({ ...counts })
        }
      }),
    )
  }

  /** Works, and ends the progress. After an abort, the requests in progress have some time to finish. */
  async whileSending<R>(work: () => Promise<R>): Promise<R> {
    this.#isSending = true
    try {
      return await work()
    } finally {
      this.#isSending = false
      this.#ended.abort()
      this.end()
    }
  }

  /** Ends the progress. */
  end(): void {
    this.#progress?.end()
    this.#progress = undefined
  }
}
