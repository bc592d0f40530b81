import type { Client } from '../client/client.ts'
import { Failure, type FailureKind } from '../contract/failure.ts'
import { GracefulAbort } from './graceful-abort.ts'
import type { Imported, ImportOptions, Prospect, RowCounts } from './import-options.ts'
import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import type { InputRow } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import type { Journal } from './journal/journal.ts'
import type { Spent } from './journal/spent-quota.ts'
import { type PlannedWork, planWork } from './planned-work.ts'
import { preparePasswords, withPasswords } from './results/prepare-passwords.ts'
import { reportRows } from './results/report-rows.ts'
import { openPasswords } from './results/stored-passwords.ts'
import { estimateDuration } from './send/estimate.ts'
import { runRows } from './send/run-rows.ts'
import { sendRow } from './send/send-row.ts'
import { ServiceHealth } from './send/service-health.ts'
import { Throttle } from './send/throttle.ts'
import type { UnknownRowDecisions } from './unknown-row-decisions.ts'

/** Ms of a request, before any was made. */
const usualLatency = 100

const busy: readonly FailureKind[] = ['server_error', 'truncated', 'rate_limited']

/** A key need not belong to a user: what counts is that it was accepted. */
function isKeyAccepted(error: unknown): boolean {
  const answers: readonly FailureKind[] = [
    'forbidden',
    'not_found',
    'rejected',
    'conflict',
    'invalid_response',
  ]
  return error instanceof Failure && answers.includes(error.kind)
}

/** One run over the rows, from what the journal has to what became of them. */
export class ImportRun {
  readonly #input: Input
  readonly #options: ImportOptions
  readonly #checked: CheckedInput
  readonly #journal: Journal
  readonly #decisions: UnknownRowDecisions
  readonly #throttle: Throttle
  readonly #draining: GracefulAbort
  #requests = 0

  constructor(
    input: Input,
    options: ImportOptions,
    checked: CheckedInput,
    journal: Journal,
    decisions: UnknownRowDecisions,
    spent: Spent | undefined,
  ) {
    this.#input = input
    this.#options = options
    this.#checked = checked
    this.#journal = journal
    this.#decisions = decisions
    this.#draining = new GracefulAbort(options)
    this.#throttle = new Throttle({
      clock: options.clock,
      maxWait: options.maxWait,
      signal: options.signal,
      quota: options.quota,
      spent,
      onWindow: (window) => {
        const { quota } = options
        if (quota) journal.noteWindow({ at: options.clock.now(), length: quota.window, ...window })
      },
      onPause: options.onPause,
      onGo: options.onGo,
    })
  }

  async go(): Promise<Imported> {
    const { kind } = this.#options
    const outline = await planWork(this.#input, kind, {
      checked: this.#checked,
      states: this.#journal.rows,
      decisions: this.#decisions,
    })
    const client = await this.#connect()
    // What became of a row in an earlier run can be said without a service.
    const isSettling = this.#options.settlement !== undefined && this.#journal.rows.unsettled > 0
    if (outline.requests > 0) {
      // Of a quota that was given, it would be the request that is missing in the end.
      const latency = this.#options.quota ? undefined : await this.#probe(client)
      await this.#options.confirm(this.#prospect(outline, latency))
    } else if (!isSettling) await this.#checkService(client)
    // What was asked for is counted, not what we wanted to know.
    this.#requests = 0
    if (outline.requests === 0 && !isSettling) return this.#report(undefined)
    await this.#preparePasswords()
    return this.#report(await this.#send(client, outline))
  }

  /** @param latency ms of one request, where one was made */
  #prospect(outline: PlannedWork, latency = usualLatency): Prospect {
    const perSecond = (this.#options.concurrency * 1000) / latency
    const quota = this.#throttle.known
    const duration = estimateDuration({ requests: outline.requests, perSecond, quota })
    return { ...outline, quota, duration }
  }

  async #connect(): Promise<Client> {
    return this.#options.connect({
      maxWait: 0,
      signal: this.#draining.signal,
      observe: (event) => {
        if (event.type === 'request') this.#requests++
        this.#throttle.observe(event)
      },
    })
  }

  /**
   * One request that changes nothing, before anybody is asked: it tells whether the credential is
   * good, how long an answer takes, and what the headers say of the quota.
   *
   * @returns ms
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

  /** A run with nothing to send must not succeed where the service cannot be reached, or refuses the key. */
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
    const [input, checked, journal] = [this.#input, this.#checked, this.#journal]
    const lost = await preparePasswords({ input, kind, checked, journal, results, makePassword })
    if (lost > 0) {
      await warn(
        `${results} no longer contains the passwords of ${lost} users that were sent in an earlier run`,
      )
    }
  }

  /** @returns what ended it early; undefined where all was sent */
  async #send(client: Client, outline: PlannedWork): Promise<unknown> {
    const { kind, concurrency, results, makePassword, signal, onBegin, onProgress } = this.#options
    const tally: RowCounts = { done: outline.done, failed: 0, unknown: outline.unknown }
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
      const settlement = this.#decisions.of(input)
      const before = this.#journal.rows.offsetOf(index)
      await sendRow(sending, index, row, settlement)
      // What an earlier run has settled is counted already.
      if (this.#journal.rows.offsetOf(index) === before) return
      const status = this.#statusOf(index)
      if (status !== undefined) tally[status]++
      onProgress({ ...tally })
    }
    onBegin({
      rows: outline.rows,
      tally: { ...tally },
      estimate: (rows, perSecond) => {
        // A row is as many requests as the others are.
        const perRow = outline.requests / Math.max(1, outline.rows - outline.done)
        const quota = this.#throttle.known
        return estimateDuration({ requests: rows * perRow, perSecond: perSecond * perRow, quota })
      },
    })
    this.#draining.begin()
    try {
      await runRows(batches, concurrency, work, () => signal.aborted)
      return signal.aborted ? signal.reason : undefined
    } catch (error) {
      return signal.aborted ? signal.reason : error
    } finally {
      this.#draining.end()
    }
  }

  #statusOf(index: number): keyof RowCounts | undefined {
    const phase = this.#journal.rows.of(index)?.phase
    if (phase === 'took') return 'done'
    if (phase === 'refused') return 'failed'
    return phase === 'unknown' || phase === 'nameless' ? 'unknown' : undefined
  }

  async #report(ended: unknown): Promise<Imported> {
    const { kind, results, makePassword, onUnknown, onFailed, warn } = this.#options
    await this.#journal.sync()
    const report = await reportRows({
      input: this.#input,
      kind,
      checked: this.#checked,
      journal: this.#journal,
      results,
      hasPasswords: makePassword !== undefined,
      onUnknown,
      onFailed,
      warn,
    })
    if (report.isFinished) this.#journal.end('finished')
    return {
      ...report,
      rows: this.#checked.rows,
      requests: this.#requests,
      ended,
    }
  }
}
