import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ConfiguredQuota } from '../config/quota.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import type { InputFormat } from './input/input.ts'
import type { CreatedUsers } from './journal/adopt-created.ts'
import type { PlannedRequest, PlannedWork } from './planned-work.ts'
import type { Report, ReportOptions } from './results/report-rows.ts'
import type { RowKind } from './rows/imported-user.ts'
import type { KnownQuota } from './send/known-quota.ts'
import type { Pause } from './send/throttle.ts'
import type { ResolutionOptions } from './unknown-row-resolutions.ts'

/** Numbers of rows by their state, in all runs so far. */
export interface RowCounts {
  /** Created or updated. */
  done: number
  failed: number
  /** Rows whose outcome is unknown. */
  unknown: number
}

/** What the progress display needs at the start of a run. */
export interface RunStart {
  rows: number
  /** The results of earlier runs. */
  counts: RowCounts
  /** The duration in ms of sending these rows at this rate, including pauses for the quota. */
  estimate(rows: number, perSecond: number): number
}

/** The work of a run, and how long it will take. */
export interface Forecast extends PlannedWork {
  quota: KnownQuota | undefined
  /** Approximate, in ms. */
  duration: number
}

export interface ImportOptions extends ResolutionOptions, Pick<CreatedUsers, 'createdUsers'> {
  directories: Directories
  stdin: AsyncIterable<Uint8Array>
  /** Registers an operation that may not end by itself. @returns the function to call at its end */
  untilEnded(): () => void
  /** Resolves a path relative to the working directory of the run. */
  resolvePath(name: string): string
  /** Path of the input; `-` is stdin. */
  file: string
  /** Default: detected from the file extension or the first characters. */
  format: InputFormat | undefined
  kind: RowKind
  /** Base URL of the service, for the journal. */
  service: string
  skipInvalid: boolean
  restart: boolean
  concurrency: number
  quota: ConfiguredQuota | undefined
  /** In ms. */
  maxWait: number
  clock: Clock
  /** Path of the results file. */
  results: string | undefined
  /** Generates a password for a user without one (default: the user is created without a password). */
  makePassword: (() => string) | undefined
  /** Shows the planned work instead of sending it. */
  showPlannedWork: ((planned: PlannedWork, first: readonly PlannedRequest[]) => Promise<void>) | undefined
  /** Ends the run. Requests in progress may finish: see `GracefulAbort`. */
  signal: AbortSignal
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
  /** Called before the first row is sent. Throws to send nothing. */
  confirm(forecast: Forecast): Promise<void>
  onBegin(start: RunStart): void
  onProgress(counts: RowCounts): void
  onPause(pause: Pause): void
  onResume(): void
  onUnknown: ReportOptions['onUnknown']
  onFailed: ReportOptions['onFailed']
  onRow: ReportOptions['onRow']
  warn(text: string): Promise<void>
  /** Called with the number of new users without a password. */
  warnOfNoPassword(users: number): Promise<void>
  /** Called with the number of rows whose users others have created. */
  warnOfCreated(users: number): Promise<void>
}

/** The result of an import, over all runs of its journal. */
export interface Imported extends Report {
  rows: number
  /** The number of requests of this run. */
  requests: number
  /** The error or abort reason that ended the run early. */
  ended: unknown
}
