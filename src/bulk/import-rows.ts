import type { Client, ClientOptions } from '../client/client.ts'
import { systemClock } from '../client/clock.ts'
import type { Quota } from '../config/quota.ts'
import { Failure } from '../failure.ts'
import { countOf } from '../view/count.ts'
import { Draining } from './draining.ts'
import { FaultList, faultsFailure } from './fault-list.ts'
import type { CheckedInput } from './input/check-input.ts'
import { checkInput } from './input/check-input.ts'
import { type Input, type InputForm, openInput } from './input/input.ts'
import { type InputRow, readRows } from './input/read-rows.ts'
import type { Journal } from './journal/journal.ts'
import { importsFolder, openJournal } from './journal/open-journal.ts'
import { type Outline, outlineRun } from './outline.ts'
import { guardPasswords, preparePasswords, withPasswords } from './results/prepare-passwords.ts'
import { type Report, reportRows } from './results/report-rows.ts'
import { formOfResults } from './results/results-file.ts'
import { type RowResult, type RowStatus, standingOf } from './results/row-result.ts'
import type { RowKind } from './rows/user-row.ts'
import { Brake, type KnownQuota, type Pause } from './send/brake.ts'
import { estimateDuration } from './send/estimate.ts'
import { runRows } from './send/run-rows.ts'
import { sendRow } from './send/send-row.ts'
import { ServiceHealth } from './send/service-health.ts'
import { readSettling, type Settling, type SettlingOptions } from './settling.ts'

/** Ms: the window of a quota of which nothing is said (interface.md, "Limits"). */
const hour = 3_600_000

/** Ms of a request, before any was made. */
const usualLatency = 100

/** How far a run is. */
export interface Progress {
  /** Rows that are created or updated, by earlier runs too. */
  done: number
  failed: number
  unknown: number
}

/** What the progress of a run is shown with. */
export interface Pace {
  rows: number
  /** Ms that so many rows will take at so many a second, pauses for the quota among it. */
  estimate(rows: number, perSecond: number): number
}

/** What a run is going to send, and what is known of how long that will take. */
export interface Prospect extends Outline {
  quota: KnownQuota | undefined
  /** Ms that it will take, about. */
  duration: number
  /** Whether an earlier run has left something. */
  isResumed: boolean
}

export interface ImportOptions extends SettlingOptions {
  /** Path of the rows; `-` is stdin. */
  file: string
  /** Undefined: as its name or its beginning says. */
  form: InputForm | undefined
  kind: RowKind
  /** Address of the service, for the journal. */
  service: string
  skipInvalid: boolean
  restart: boolean
  concurrency: number
  quota: Quota | undefined
  /** Ms. */
  maxWait: number
  /** Path of the file of results. */
  results: string | undefined
  /** Makes a password for every user that has none; undefined: such a user is sent without. */
  makePassword: (() => string) | undefined
  dryRun: boolean
  /** Ends the run in good order: what is under way is waited for. */
  signal: AbortSignal
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
  /** Is asked before anything is sent; throws to send nothing. */
  confirm(prospect: Prospect): Promise<void>
  onBegin(pace: Pace): void
  onProgress(progress: Progress): void
  onPause(pause: Pause): void
  onGo(): void
  onUnknown(result: RowResult, canBeSettled: boolean): void
  warn(text: string): Promise<void>
}

/** What became of a file of rows, all runs of its journal together. */
export interface Imported extends Report {
  rows: number
  /** Requests of this run. */
  requests: number
  journal: string
  /** What ended the run before everything was sent. */
  ended: unknown
}

/**
 * Checks a file of rows, and sends what is still to be sent of it. Whatever ends it, the same call
 * goes on from there.
 *
 * @returns undefined where nothing was to be sent but shown (`dryRun`): `confirm` has had it
 * @throws Failure `refused` for faults of the file, `conflict` where it has changed since or another
 *   process imports it; what `confirm` throws
 */
export async function importRows(options: ImportOptions): Promise<Imported | undefined> {
  const { file, form, signal, results } = options
  if (results !== undefined) formOfResults(results)
  // What ends the sending does not end the reading: the results are still to be written.
  const reading = new AbortController()
  const stop = () => reading.abort(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop)
  const input = await openInput(file, {
    ...(form !== undefined && { form }),
    signal: reading.signal,
    spoolFolder: importsFolder(),
    stdin: process.stdin,
  })
  try {
    const checked = await check(input, options)
    signal.removeEventListener('abort', stop)
    signal.throwIfAborted()
    return await importChecked(input, checked, options)
  } finally {
    input.close()
  }
}

/** @throws Failure `refused` that lists the faults */
async function check(input: Input, { kind, skipInvalid, warn }: ImportOptions): Promise<CheckedInput> {
  const faults = new FaultList(input.name)
  const checked = await checkInput(input, kind, (fault) => faults.add(fault))
  if (checked.labelledUpdates > 0) {
    const rows = countOf(checked.labelledUpdates, 'row')
    await warn(`An email cannot be changed: that of ${rows} with an id is not sent`)
  }
  if (faults.count === 0) return checked
  if (!skipInvalid) throw faultsFailure(faults)
  await warn(`${countOf(faults.count, 'fault')}, whose rows are skipped:\n${faults.describe()}`)
  return checked
}

async function importChecked(
  input: Input,
  checked: CheckedInput,
  options: ImportOptions,
): Promise<Imported | undefined> {
  const { kind, service, quota, restart, results, makePassword } = options
  const { sha256, rows } = checked
  const journal = openJournal(
    {
      v: 1,
      type: 'import',
      kind,
      service,
      input: { name: input.path ?? input.name, form: input.form, sha256, rows },
      at: new Date().toISOString(),
    },
    { window: quota?.window ?? hour, restart },
  )
  try {
    const settling = await readSettling(options, { input, kind, journal })
    await guardPasswords(journal, { results, generates: makePassword !== undefined })
    return await new Run(input, options, checked, journal, settling).go()
  } finally {
    await journal.close()
  }
}

/** One run over the rows, from what the journal has to what became of them. */
class Run {
  readonly #input: Input
  readonly #options: ImportOptions
  readonly #checked: CheckedInput
  readonly #journal: Journal
  readonly #settling: Settling
  readonly #brake: Brake
  readonly #draining: Draining
  #requests = 0

  constructor(
    input: Input,
    options: ImportOptions,
    checked: CheckedInput,
    journal: Journal,
    settling: Settling,
  ) {
    this.#input = input
    this.#options = options
    this.#checked = checked
    this.#journal = journal
    this.#settling = settling
    this.#draining = new Draining(options.signal)
    this.#brake = new Brake({
      clock: systemClock,
      maxWait: options.maxWait,
      signal: options.signal,
      quota: options.quota,
      spent: journal.spent,
      onPause: options.onPause,
      onGo: options.onGo,
    })
  }

  async go(): Promise<Imported | undefined> {
    const { kind, dryRun } = this.#options
    const isResumed = !this.#journal.rows.isUntouched
    const outline = await outlineRun(this.#input, kind, {
      checked: this.#checked,
      journal: this.#journal,
      settling: this.#settling,
    })
    if (dryRun) {
      await this.#options.confirm(this.#prospect(outline, undefined, isResumed))
      return undefined
    }
    let ended: unknown
    if (outline.requests > 0 || this.#options.settlement !== undefined) {
      const client = await this.#connect()
      const latency = await this.#probe(client)
      await this.#options.confirm(this.#prospect(outline, latency, isResumed))
      await this.#preparePasswords()
      ended = await this.#send(client, outline)
    }
    return this.#report(ended)
  }

  /** @param latency ms of one request, where one was made */
  #prospect(outline: Outline, latency = usualLatency, isResumed: boolean): Prospect {
    const perSecond = (this.#options.concurrency * 1000) / latency
    const quota = this.#brake.known
    const duration = estimateDuration({ requests: outline.requests, perSecond, quota })
    return { ...outline, quota, duration, isResumed }
  }

  async #connect(): Promise<Client> {
    return this.#options.connect({
      maxWait: 0,
      signal: this.#draining.signal,
      observe: (event) => {
        if (event.type === 'request') this.#requests++
        this.#brake.observe(event)
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
    // Of a quota that was given, it would be the request that is missing in the end.
    if (this.#options.quota) return undefined
    const startedAt = performance.now()
    try {
      await client.users.profile()
      return performance.now() - startedAt
    } catch (error) {
      // A key need not belong to a user: what counts is that it was let in.
      const kind = error instanceof Failure ? error.kind : undefined
      const isFatal = kind === undefined || ['unauthorized', 'unreachable', 'timeout', 'tls'].includes(kind)
      if (isFatal) throw error
      return undefined
    }
  }

  async #preparePasswords(): Promise<void> {
    const { kind, results, makePassword, warn } = this.#options
    if (makePassword === undefined || results === undefined) return
    const [input, checked, journal] = [this.#input, this.#checked, this.#journal]
    const lost = await preparePasswords({ input, kind, checked, journal, results, makePassword })
    if (lost > 0) {
      await warn(`${results} no longer has the passwords of ${lost} users that were sent earlier`)
    }
  }

  /** @returns what ended it early; undefined where all was sent */
  async #send(client: Client, outline: Outline): Promise<unknown> {
    const { kind, concurrency, results, makePassword, signal, onBegin, onProgress } = this.#options
    const counts = { created: 0, updated: 0, failed: 0, unknown: 0, skipped: 0 } as Record<RowStatus, number>
    const sending = {
      users: client.users,
      journal: this.#journal,
      brake: this.#brake,
      health: new ServiceHealth(),
    }
    const rows = readRows(this.#input, kind)
    const batches = makePassword && results !== undefined ? withPasswords(rows, results) : rows
    const work = async (row: InputRow) => {
      if (row.row && !this.#checked.faulty.has(row.index)) {
        await sendRow(sending, row.index, row.row, this.#settling.of(row.index, row.line))
      }
      counts[standingOf(row, this.#checked.faulty, this.#journal).status]++
      const { created, updated, failed, unknown } = counts
      onProgress({ done: created + updated, failed, unknown })
    }
    onBegin({
      rows: outline.rows,
      estimate: (rows, perSecond) => {
        // A row is as many requests as the others are.
        const perRow = outline.requests / Math.max(1, outline.rows - outline.done)
        const quota = this.#brake.known
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

  async #report(ended: unknown): Promise<Imported> {
    const { kind, results, makePassword, onUnknown } = this.#options
    await this.#journal.sync()
    const report = await reportRows({
      input: this.#input,
      kind,
      checked: this.#checked,
      journal: this.#journal,
      results,
      hasPasswords: makePassword !== undefined,
      onUnknown,
    })
    return {
      ...report,
      rows: this.#checked.rows,
      requests: this.#requests,
      journal: this.#journal.path,
      ended,
    }
  }
}
