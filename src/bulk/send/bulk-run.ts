import type { Client } from '../../client/client.ts'
import type { ClientOptions } from '../../client/client-options.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'
import { Failure, type FailureKind } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import type { PlannedRequest } from '../../view/dry-run.ts'
import type { Pause, RowCounts } from '../../view/run-progress.ts'
import type { InputFormat, InputOptions } from '../input/input.ts'
import { countAcrossRuns } from '../journal/spent-quota.ts'
import { ChangeNotifier, runRows } from './concurrency.ts'
import type { KnownQuota } from './known-quota.ts'
import { estimateDuration, Throttle } from './throttle.ts'

/** Where many requests are sent. */
export interface RunSurroundings {
  directories: Directories
  /** Base URL of the service, for records. */
  service: string
  clock: Clock
  /** Ends the run. Requests in progress may finish: see `GracefulAbort`. */
  signal: AbortSignal
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
}

/** Where a file of rows is read and sent. */
export type FileSurroundings = RunSurroundings & Omit<InputOptions, 'format'>

/** Which rows are sent, and how. */
export interface FileOptions {
  /** Path of the input; `-` is stdin. */
  file: string
  /** Default: detected from the file extension or the first characters. */
  format: InputFormat | undefined
  skipInvalid: boolean
  restart: boolean
  /** Whether to end when the work is planned. */
  isDryRun: boolean
  concurrency: number
  quota: ConfiguredQuota | undefined
  /** In ms. */
  maxWait: number
}

/** The work of a run. */
export interface PlannedRows {
  rows: number
  /** Rows that earlier runs have done. */
  done: number
  requests: number
}

/** The work of a run, and how long it will take. */
export type Forecast<P extends PlannedRows = PlannedRows> = P & {
  quota: KnownQuota | undefined
  /** Approximate, in ms. */
  duration: number
}

/** The result of a file, over all runs of its journal. */
export interface FileReport {
  rows: number
  /** Numbers of rows by status, without those that earlier runs have done. */
  counts: { failed: number; unknown: number }
  /** Rows that earlier runs have done. This run has sent no request for them. */
  alreadyDone: number
  /** Skipped rows with faults. */
  invalid: number
  /** Rows without an outcome, which the same command would send. */
  remaining: number
  /** The number of requests of this run. */
  requests: number
  /** Path of the file of rows that failed or have faults, if any. */
  failedRows: string | undefined
  /** Why the results file does not have the results. */
  resultsFailure: Failure | undefined
  /** The error or abort reason that ended the run early. */
  ended: unknown
}

/** What a display of the progress needs. */
export type ProgressEvent =
  /** `estimate`: the duration in ms of so many rows at this rate, including pauses for the quota. */
  | {
      type: 'begin'
      rows: number
      counts: RowCounts
      /** Whether requests will change something. */
      isSending: boolean
      estimate(rows: number, perSecond: number): number
    }
  | { type: 'progress'; counts: RowCounts }
  | { type: 'pause'; pause: Pause }
  | { type: 'resume' }

/** What happens while a file of rows is sent. */
export type FileEvent<P extends PlannedRows, R extends FileReport> =
  | { type: 'warning'; text: string }
  /** Of a dry run, which ends then. */
  | { type: 'planned'; planned: P; first: readonly PlannedRequest[] }
  /** Before the first row is sent. To send nothing, stop reading the events. */
  | { type: 'forecast'; forecast: Forecast<P> }
  | ProgressEvent
  | { type: 'end'; report: R }

const busy: readonly FailureKind[] = ['server_error', 'truncated', 'rate_limited']

/** Whether the service accepted the key. It may refuse the profile of a key that belongs to no user. */
function isKeyAccepted(error: unknown): boolean {
  const kinds: readonly FailureKind[] = ['forbidden', 'not_found', 'rejected', 'conflict']
  if (!(error instanceof Failure)) return false
  // A page with status 200 comes from another program, such as a sign-in page.
  const isPage = error.advice.some(({ code }) => code === 'web_page')
  return kinds.includes(error.kind) || (error.kind === 'invalid_response' && !isPage)
}

/** A client with a throttle, for concurrent requests, whose progress one reader follows. */
export class BulkRun {
  readonly throttle: Throttle
  /** Number of requests. */
  requests = 0
  readonly #around: RunSurroundings
  readonly #controller = new AbortController()
  readonly #ended = new AbortController()
  #isSending = false
  #events: ProgressEvent[] = []
  readonly #changed = new ChangeNotifier()

  /**
   * @param options.isCounted whether the requests count for later runs with a quota
   * @param options.patience how long requests in progress may take to finish after an abort, in ms
   */
  constructor(
    around: RunSurroundings,
    options: { quota: ConfiguredQuota | undefined; maxWait: number; isCounted: boolean; patience?: number },
  ) {
    const { quota, maxWait, isCounted, patience = 4_000 } = options
    const { clock, signal } = around
    this.#around = around
    this.throttle = new Throttle({
      ...{ clock, signal, maxWait, quota },
      ...(isCounted && countAcrossRuns(around, quota)),
      onPause: (pause) => this.push({ type: 'pause', pause }),
      onResume: () => this.push({ type: 'resume' }),
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
    return this.#around.connect({
      maxWait: 0,
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
   *
   * @param mayBeBusy whether a service that is busy now is no error
   * @returns its duration in ms; undefined if it failed
   */
  async probe(client: Client, mayBeBusy = true): Promise<number | undefined> {
    const { clock } = this.#around
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
   * @param start.rows number of rows
   * @param start.perRow average number of requests
   */
  begin(start: { rows: number; isSending: boolean; counts?: RowCounts; perRow?: number }): ProgressEvent {
    const { rows, isSending, counts = { done: 0, failed: 0, unknown: 0 }, perRow = 1 } = start
    const estimate = (left: number, perSecond: number) => this.estimate(left * perRow, perSecond * perRow)
    return { type: 'begin', rows, counts: { ...counts }, isSending, estimate }
  }

  /** In ms. */
  estimate(requests: number, perSecond: number): number {
    return estimateDuration({ requests, perSecond, quota: this.throttle.known })
  }

  /**
   * Sends rows concurrently, and counts them.
   *
   * @param send throws the error that should end the run
   * @param kindOf the kind as which a row counts after it
   * @returns the error or abort reason that ended the run early
   */
  async *sendRows<T>(
    work: Iterable<T>,
    { concurrency, ...start }: { rows: number; concurrency: number; counts: RowCounts; perRow?: number },
    send: (row: T) => Promise<void>,
    kindOf: (row: T) => keyof RowCounts | undefined,
  ): AsyncGenerator<ProgressEvent, unknown> {
    const { counts } = start
    const sendOne = async (row: T) => {
      try {
        await send(row)
      } finally {
        const kind = kindOf(row)
        if (kind !== undefined) counts[kind]++
        this.push({ type: 'progress', counts: { ...counts } })
      }
    }
    yield this.begin({ ...start, isSending: true })
    const { signal } = this.#around
    return yield* this.whileSending(() => runRows(work, { concurrency, signal }, sendOne))
  }

  /** Progress that was not read yet is replaced. */
  push(event: ProgressEvent): void {
    if (event.type === 'progress' && this.#events.at(-1)?.type === 'progress') this.#events.pop()
    this.#events.push(event)
    this.#changed.notify()
  }

  /** Yields the events until the work has ended. After an abort, the requests in progress have some time to finish. */
  async *whileSending<R>(work: () => Promise<R>): AsyncGenerator<ProgressEvent, R> {
    this.#isSending = true
    try {
      return yield* this.while(work)
    } finally {
      this.#isSending = false
      this.#ended.abort()
    }
  }

  /** Yields the events until the work has ended. @returns its result */
  async *while<R>(work: () => Promise<R>): AsyncGenerator<ProgressEvent, R> {
    let isOver = false
    const end = () => {
      isOver = true
      this.#changed.notify()
    }
    const working = work()
    working.then(end, end)
    try {
      for (;;) {
        const events = this.#events
        this.#events = []
        yield* events
        if (this.#events.length > 0) continue
        if (isOver) return await working
        await this.#changed.nextChange()
      }
    } finally {
      // Also if the reader stops early.
      await working.catch(() => {})
    }
  }
}
