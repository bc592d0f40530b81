import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { Quota } from '../config/quota.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/directories.ts'
import type { InputFormat } from './input/input-format.ts'
import type { PlannedWork } from './planned-work.ts'
import type { Report, Reporting } from './results/report-rows.ts'
import type { RowKind } from './rows/user-row.ts'
import type { KnownQuota } from './send/known-quota.ts'
import type { Pause } from './send/throttle.ts'
import type { DecisionOptions } from './unknown-row-decisions.ts'

/** What has become of the rows so far. */
export interface RowCounts {
  /** Rows that are created or updated, by earlier runs too. */
  done: number
  failed: number
  /** Nobody knows whether they were done. */
  unknown: number
}

/** How a run begins, and what its progress is shown with. */
export interface RunStart {
  rows: number
  /** What earlier runs have left. */
  tally: RowCounts
  /** Ms that so many rows will take at so many a second, pauses for the quota among it. */
  estimate(rows: number, perSecond: number): number
}

/** What a run is going to send, and what is known of how long that will take. */
export interface Prospect extends PlannedWork {
  quota: KnownQuota | undefined
  /** Ms that it will take, about. */
  duration: number
}

export interface ImportOptions extends DecisionOptions {
  directories: Directories
  stdin: AsyncIterable<Uint8Array>
  /** Says that something may not end by itself. @returns to be called when it has ended */
  untilEnded(): () => void
  /** The path that a person means by a name of a file. */
  resolvePath(name: string): string
  /** Path of the rows; `-` is stdin. */
  file: string
  /** Undefined: as its name or its beginning says. */
  format: InputFormat | undefined
  kind: RowKind
  /** Address of the service, for the journal. */
  service: string
  skipInvalid: boolean
  restart: boolean
  concurrency: number
  quota: Quota | undefined
  /** Ms. */
  maxWait: number
  clock: Clock
  /** Path of the file of results. */
  results: string | undefined
  /** Makes a password for every user that has none; undefined: such a user is sent without. */
  makePassword: (() => string) | undefined
  /** Shows what would be sent, in place of sending it. */
  showPlannedWork: ((outline: PlannedWork) => Promise<void>) | undefined
  /** Ends the run in good order: what is under way is waited for. */
  signal: AbortSignal
  connect(other: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal'>): Promise<Client>
  /** Is asked before anything is sent; throws to send nothing. */
  confirm(prospect: Prospect): Promise<void>
  onBegin(start: RunStart): void
  onProgress(tally: RowCounts): void
  onPause(pause: Pause): void
  onGo(): void
  onUnknown: Reporting['onUnknown']
  onFailed: Reporting['onFailed']
  warn(text: string): Promise<void>
  /** Told how many new users have no password. */
  warnOfNoPassword(users: number): Promise<void>
}

/** What became of a file of rows, all runs of its journal together. */
export interface Imported extends Report {
  rows: number
  /** Requests of this run. */
  requests: number
  /** What ended the run before everything was sent. */
  ended: unknown
}
