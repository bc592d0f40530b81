import { resolve } from 'node:path'
import type { CreatedUser } from '../activity/read-activity.ts'
import type { Input } from '../bulk/input/input.ts'
import type { Journal } from '../bulk/journal/journal.ts'
import {
  BulkRun,
  type FileEvent,
  type FileOptions,
  type FileReport,
  type FileSurroundings,
  type Forecast,
} from '../bulk/send/bulk-run.ts'
import { ServiceHealth } from '../bulk/send/send-change.ts'
import type { Client } from '../client/client.ts'
import { type KnownRow, knownRows } from './adopt-rows.ts'
import { type PlannedWork, type ResolutionOptions, type ResolvedRows, workOf } from './planned-work.ts'
import { type Report, reportRows, resultOf, writeAllResults } from './results/report-rows.ts'
import { addPasswords, type GeneratedPasswords } from './results/results-file.ts'
import type { CheckedInput } from './rows/check-input.ts'
import type { RowKind } from './rows/imported-user.ts'
import { type RowWork, sendRow } from './send/send-row.ts'

/** In ms, of a request, if none was made yet. */
const assumedLatency = 100

interface ImportParts {
  input: Input
  checked: CheckedInput
  journal: Journal
  /** Undefined if no passwords are generated. */
  passwords: GeneratedPasswords | undefined
  options: ImportOptions
  around: FileSurroundings
}

/** One run of an import: waits for the confirmation, sends, and reports. */
export class ImportRun {
  readonly #parts: ImportParts
  readonly #run: BulkRun

  constructor(parts: ImportParts) {
    const { options, around } = parts
    this.#parts = parts
    const { quota, maxWait } = options
    this.#run = new BulkRun(around, { quota, maxWait, isCounted: true })
  }

  async *run(planned: PlannedWork, resolved: ResolvedRows): AsyncGenerator<ImportEvent, ImportReport> {
    const { options } = this.#parts
    const hasWork = planned.requests > 0 || resolved.rows.size > 0
    const client = await this.#run.connect()
    // With a configured quota, the probe would use up one of its requests. A run with nothing to send must still fail
    // if the service is unreachable or refuses the key, but resolving rows of an earlier run may need no request.
    const isProbed = hasWork ? planned.requests > 0 && !options.quota : true
    const latency = isProbed ? await this.#run.probe(client, hasWork) : undefined
    if (planned.requests > 0) yield { type: 'forecast', forecast: this.#forecast(planned, latency) }
    // The probe does not count.
    this.#run.requests = 0
    if (!hasWork) return yield* this.#report(undefined)
    yield* this.#preparePasswords(resolved)
    return yield* this.#report(yield* this.#send(client, planned, resolved))
  }

  /** @param latency of one request, in ms */
  #forecast(planned: PlannedWork, latency = assumedLatency): Forecast<PlannedWork> {
    const perSecond = (this.#parts.options.concurrency * 1000) / latency
    const duration = this.#run.estimate(planned.requests, perSecond)
    return { ...planned, quota: this.#run.throttle.known, duration }
  }

  /** The passwords are on disk before the first request is sent. */
  async *#preparePasswords(resolved: ResolvedRows): AsyncGenerator<ImportEvent> {
    const { journal, checked, passwords, options } = this.#parts
    const { results, makePassword } = options
    if (!passwords || !makePassword || results === undefined) return
    journal.noteFile({ type: 'passwords', path: resolve(results) })
    await journal.sync()
    addPasswords(passwords, this.#work(resolved), { journal, makePassword })
    await writeAllResults(results, { checked, journal, ...passwords })
    const { lost } = passwords
    if (lost === 0) return
    yield {
      type: 'warning',
      text: `${results} no longer contains the passwords of ${lost} users that were sent in an earlier run`,
    }
  }

  #work(resolved: ResolvedRows): Generator<RowWork> {
    const { checked, journal } = this.#parts
    return workOf(checked.valid, journal.content.states, resolved)
  }

  /** @returns the error or abort reason that ended it early */
  async *#send(
    client: Client,
    planned: PlannedWork,
    resolved: ResolvedRows,
  ): AsyncGenerator<ImportEvent, unknown> {
    const { journal, options } = this.#parts
    const sending = {
      users: client.users,
      journal,
      throttle: this.#run.throttle,
      health: new ServiceHealth(),
    }
    const { rows, done, unknown } = planned
    const start = {
      ...{ rows, concurrency: options.concurrency, counts: { done, failed: 0, unknown } },
      // Assumes that the remaining rows need the average number of requests.
      perRow: planned.requests / Math.max(1, rows - done),
    }
    return yield* this.#run.sendRows(
      this.#work(resolved),
      start,
      (row) => sendRow(sending, row),
      ({ checked }) => {
        const { status } = resultOf(checked, journal.content.states)
        if (status === 'skipped') return undefined
        return status === 'created' || status === 'updated' ? 'done' : status
      },
    )
  }

  async *#report(ended: unknown): AsyncGenerator<ImportEvent, ImportReport> {
    const { journal, checked, options, passwords } = this.#parts
    const report = await reportRows({ ...this.#parts, ...options, passwords: passwords?.passwords })
    const { counts, remaining, resultsFailure, warnings } = report
    for (const text of warnings) yield { type: 'warning', text }
    if (ended !== undefined && resultsFailure) yield { type: 'warning', text: resultsFailure.message }
    yield { type: 'known', rows: knownRows(checked.valid, journal) }
    if (counts.unknown === 0 && remaining === 0 && !resultsFailure) journal.end('finished')
    return {
      ...report,
      rows: checked.rows.length,
      requests: this.#run.requests,
      ended: ended ?? resultsFailure,
    }
  }
}

/** What is imported, and how. */
export interface ImportOptions extends ResolutionOptions, FileOptions {
  kind: RowKind
  /** Path of the results file. */
  results: string | undefined
  /** Generates a password for a user without one (default: the user is created without a password). */
  makePassword: (() => string) | undefined
  /** The users whose creation any command has sent, by email in lower case; undefined to create users again. */
  createdUsers: (() => ReadonlyMap<string, CreatedUser>) | undefined
}

export type ImportEvent =
  | FileEvent<PlannedWork, ImportReport>
  /** New users without a password. */
  | { type: 'no_password'; users: number }
  /** Rows whose users others have created. */
  | { type: 'created_before'; users: number }
  /** The valid rows for which something was sent, before the end. */
  | { type: 'known'; rows: Iterable<KnownRow> }

export type ImportReport = Report & FileReport
