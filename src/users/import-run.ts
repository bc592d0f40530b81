import type { Client } from '../client/client.ts'
import { Failure, type FailureKind } from '../contract/failure.ts'
import type { Forecast, Imported, ImportOptions, RowCounts } from './import-options.ts'
import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import type { InputRow } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import type { Journal } from './journal/journal.ts'
import { type PlannedWork, planWork } from './planned-work.ts'
import { openPasswords } from './results/password-reader.ts'
import { preparePasswords, withPasswords } from './results/prepare-passwords.ts'
import { reportRows } from './results/report-rows.ts'
import { estimateDuration } from './send/estimate.ts'
import { GracefulAbort } from './send/graceful-abort.ts'
import type { SpentQuota } from './send/known-quota.ts'
import { runRows } from './send/run-rows.ts'
import { sendRow } from './send/send-row.ts'
import { ServiceHealth } from './send/service-health.ts'
import { Throttle } from './send/throttle.ts'
import type { UnknownRowResolutions } from './unknown-row-resolutions.ts'

/** In ms, of a request, if none was made yet. */
const assumedLatency = 100

const busy: readonly FailureKind[] = ['server_error', 'truncated', 'rate_limited']

/** Whether the service accepted the key. It may refuse the profile of a key that belongs to no user. */
function isKeyAccepted(error: unknown): boolean {
  const kinds: readonly FailureKind[] = ['forbidden', 'not_found', 'rejected', 'conflict']
  if (!(error instanceof Failure)) return false
  // A page with status 200 comes from another program, such as a sign-in page.
  const isPage = error.advice.some(({ code }) => code === 'web_page')
  return kinds.includes(error.kind) || (error.kind === 'invalid_response' && !isPage)
}

/** One run of an import: plans the work, asks for confirmation, sends, and reports. */
export class ImportRun {
  readonly #input: Input
  readonly #options: ImportOptions
  readonly #checked: CheckedInput
  readonly #journal: Journal
  readonly #resolutions: UnknownRowResolutions
  readonly #throttle: Throttle
  readonly #gracefulAbort: GracefulAbort
  #requests = 0

  constructor(
    input: Input,
    options: ImportOptions,
    checked: CheckedInput,
    journal: Journal,
    resolutions: UnknownRowResolutions,
    spent: SpentQuota | undefined,
  ) {
    this.#input = input
    this.#options = options
    this.#checked = checked
    this.#journal = journal
    this.#resolutions = resolutions
    this.#gracefulAbort = new GracefulAbort(options)
    const { clock, quota } = options
    const onWindow = (window: SpentQuota): void => {
      if (quota) journal.noteWindow({ at: clock.now(), length: quota.window, ...window })
    }
    this.#throttle = new Throttle({ ...options, spent, onWindow })
  }

  async run(): Promise<Imported> {
    const { kind } = this.#options
    const planned = await planWork(this.#input, kind, {
      checked: this.#checked,
      states: this.#journal.rows,
      resolutions: this.#resolutions,
    })
    const client = await this.#connect()
    // Resolving rows of an earlier run may need no request.
    const isResolving = this.#options.resolution !== undefined && this.#journal.rows.unresolved > 0
    if (planned.requests > 0) {
      // With a configured quota, the probe would use up one of its requests.
      const latency = this.#options.quota ? undefined : await this.#probe(client)
      await this.#options.confirm(this.#forecast(planned, latency))
    } else if (!isResolving) await this.#checkService(client)
    // The probe does not count.
    this.#requests = 0
    if (planned.requests === 0 && !isResolving) return this.#report(undefined)
    await this.#preparePasswords()
    return this.#report(await this.#send(client, planned))
  }

  /** @param latency of one request, in ms */
  #forecast(planned: PlannedWork, latency = assumedLatency): Forecast {
    const perSecond = (this.#options.concurrency * 1000) / latency
    const quota = this.#throttle.known
    const duration = estimateDuration({ requests: planned.requests, perSecond, quota })
    return { ...planned, quota, duration }
  }

  async #connect(): Promise<Client> {
    return this.#options.connect({
      maxWait: 0,
      signal: this.#gracefulAbort.signal,
      observe: (event) => {
        if (event.type === 'request') this.#requests++
        this.#throttle.observe(event)
      },
    })
  }

  /**
   * Sends one request that changes nothing, before the confirmation prompt. It checks the credential, and
   * reads the quota from the headers of the response.
   *
   * @returns its duration in ms; undefined if it failed
   */
  async #probe(client: Client): Promise<number | undefined> {
    const { clock } = this.#options
    const startedAt = clock.now()
    try {
      await client.users.profile()
      return clock.now() - startedAt
    } catch (error) {
      // A service that is busy now may be ready when the first row is sent.
      const isBusy = error instanceof Failure && busy.includes(error.kind)
      if (!isBusy && !isKeyAccepted(error)) throw error
      return undefined
    }
  }

  /** A run with nothing to send must still fail if the service is unreachable or refuses the key. */
  async #checkService(client: Client): Promise<void> {
    try {
      await this.#throttle.through(() => client.users.profile())
    } catch (error) {
      if (!isKeyAccepted(error)) throw error
    }
  }

  async #preparePasswords(): Promise<void> {
    const { kind, results, makePassword, warn } = this.#options
    if (makePassword === undefined || results === undefined) return
    const lost = await preparePasswords({
      input: this.#input,
      kind,
      checked: this.#checked,
      journal: this.#journal,
      resolutions: this.#resolutions,
      results,
      makePassword,
    })
    if (lost > 0) {
      await warn(
        `${results} no longer contains the passwords of ${lost} users that were sent in an earlier run`,
      )
    }
  }

  /** @returns the error or abort reason that ended it early */
  async #send(client: Client, planned: PlannedWork): Promise<unknown> {
    const { kind, concurrency, results, makePassword, signal, onBegin, onProgress } = this.#options
    const counts: RowCounts = { done: planned.done, failed: 0, unknown: planned.unknown }
    const sending = {
      users: client.users,
      journal: this.#journal,
      throttle: this.#throttle,
      health: new ServiceHealth(),
    }
    const rows = readRows(this.#input, kind)
    const passwords = makePassword && results !== undefined && openPasswords(this.#journal, results)
    const batches = passwords ? withPasswords(rows, passwords) : rows
    const work = async (input: InputRow) => {
      const { index, row } = input
      if (!row || this.#checked.faulty.has(index)) return
      const resolution = this.#resolutions.of(input)
      const before = this.#journal.rows.offsetOf(index)
      await sendRow(sending, index, row, resolution)
      // A row that an earlier run resolved is already counted.
      if (this.#journal.rows.offsetOf(index) === before) return
      const status = this.#statusOf(index)
      if (status !== undefined) counts[status]++
      onProgress({ ...counts })
    }
    onBegin({
      rows: planned.rows,
      counts: { ...counts },
      estimate: (rows, perSecond) => {
        // Assumes that the remaining rows need the average number of requests.
        const perRow = planned.requests / Math.max(1, planned.rows - planned.done)
        const quota = this.#throttle.known
        return estimateDuration({ requests: rows * perRow, perSecond: perSecond * perRow, quota })
      },
    })
    this.#gracefulAbort.begin()
    try {
      await runRows(batches, concurrency, work, () => signal.aborted)
      return signal.aborted ? signal.reason : undefined
    } catch (error) {
      return signal.aborted ? signal.reason : error
    } finally {
      this.#gracefulAbort.end()
    }
  }

  #statusOf(index: number): keyof RowCounts | undefined {
    const phase = this.#journal.rows.of(index)?.phase
    if (phase === 'took') return 'done'
    if (phase === 'refused' || phase === 'differs') return 'failed'
    return phase === 'unknown' || phase === 'nameless' ? 'unknown' : undefined
  }

  async #report(ended: unknown): Promise<Imported> {
    const { makePassword, warn } = this.#options
    const parts = { input: this.#input, checked: this.#checked, journal: this.#journal }
    const report = await reportRows({
      ...this.#options,
      ...parts,
      hasPasswords: makePassword !== undefined,
    })
    const { resultsFailure } = report
    if (report.isFinished && !resultsFailure) this.#journal.end('finished')
    if (ended !== undefined && resultsFailure) await warn(resultsFailure.message)
    return {
      ...report,
      rows: this.#checked.rows,
      requests: this.#requests,
      ended: ended ?? resultsFailure,
    }
  }
}
