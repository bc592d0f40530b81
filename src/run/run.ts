import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ApiResponse } from '../client/response/response.ts'
import type { ContextOwner } from '../config/last-context.ts'
import type { Failure } from '../contract/failure.ts'
import type { LedgerEnd } from '../ledger/ledger.ts'
import type { Note } from '../ledger/record.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import type { View } from '../view/format/view.ts'
import type { Pause, RowCounts } from '../view/run-progress.ts'

/**
 * The port through which the layers below `cli` reach their surroundings in one run of a command: the service, the
 * files, and the user. `cli` implements it.
 */
export interface Run {
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  /** Ends the run. */
  readonly signal: AbortSignal
  readonly directories: Directories
  /** Whether nothing may be sent that changes something. */
  readonly dryRun: boolean
  /** Of relative file names; undefined for the working directory of the process. */
  readonly cwd: string | undefined
  /** Reading it opens it. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Maximum time in ms that the run waits for a rate limit. */
  readonly maxWait: number
  /** Base URL of the service; `local` for the embedded service. */
  readonly service: string
  /** Whose files on this machine the run uses. */
  contextOwner(): ContextOwner
  /** The name of the profile with an ID. Undefined if the profile was removed. */
  profileNameOf(id: string): string | undefined
  /** Resolves a file name against the working directory of the run. */
  resolvePath(name: string): string
  /** Registers an operation that may not end by itself. @returns the function to call at its end */
  untilEnded(): () => void
  /** Sets the grace period in ms after a signal. */
  allowGrace(ms: number): void
  /** Whether a change was sent that the service has not refused. */
  readonly hasSentChange: boolean
  /** Notes the settings as they were read now, for the ledger; null if the service does not show them. */
  noteSettings(settings: object | null): void
  /** Writes to the ledger that reading the settings back contradicts the last change of them. */
  contradictSettings(): void
  /** Resolves when the ledger has that a user has an email, as the service has shown, or the user of chatctl has said. */
  saw(email: string, id: string): Promise<void>
  /** Resolves when the note is in the ledger, flushed to disk. @throws Failure `storage` if many changes are sent */
  note(note: Note, isRequired?: boolean): Promise<void>
  /**
   * From now on, a creation fails with `conflict` if another run has begun to create a user with the same email since.
   * @param known where the ledger ended when this run has read which users were created
   */
  refuseClaimed(known: LedgerEnd): void
  /** Always returns the same client. @throws Failure `unauthorized` without a credential */
  connect(): Promise<Client>
  /**
   * The ID of the user whose credential the run uses, as the service tells it, or else the token. Undefined if neither
   * does, and for the embedded service, which has one user. Sends a request if this machine does not know it.
   * @throws Failure `unauthorized` without a credential, and that of the request
   */
  user(): Promise<string | undefined>
  /** The same without a request. Undefined if it is not known. */
  knownUser(): string | undefined
  /** As `connect`, for many concurrent requests, which wait for no rate limit by themselves. */
  connectWorkers(options: Pick<ClientOptions, 'observe' | 'signal'>): Promise<Client>
  /** A command line for the service of this run, to paste into a shell. */
  commandFor(...words: readonly string[]): string
  /** Shows on stderr what the user needs before a prompt, or in addition to the result. */
  showAside(view: View, body: unknown, isPrompted: boolean): Promise<void>
  /** Tells what is no problem. */
  say(text: string): void
  /** Tells a problem that does not stop the command. */
  warn(text: string): Promise<void>
  /** Warns if a response does not match the interface, or if the client has a warning about it. */
  warnOfResponse(response: Pick<ApiResponse<unknown>, 'faults' | 'warning'>): Promise<void>
  /**
   * Asks for confirmation.
   * @throws Failure `declined` for no; in a non-interactive run `refusal`, or else `input_needed`
   */
  confirm(question: string, refusal?: Failure): Promise<void>
  /** Begins to show how far the work on many rows is. */
  progress(work: Work): Progress
}

/** What reading files needs of it. */
export type RunFiles = Pick<Run, 'signal' | 'stdin' | 'untilEnded' | 'resolvePath'>

/** The work on many rows. */
export interface Work {
  /** What is counted, in the singular. */
  noun: string
  /** Undefined if the number is not known. */
  rows?: number | undefined
  /** Of an earlier run (default: none). */
  counts?: RowCounts | undefined
  /** Whether requests change something, so that an interruption waits for those in progress. */
  isSending?: boolean
  /** The duration in ms of so many rows at this rate, including pauses for the quota. */
  estimate?(rows: number, perSecond: number): number
}

/** How far the work on many rows is. */
export interface Progress {
  /** @param counts with those of an earlier run */
  update(counts: RowCounts): void
  pause(pause: Pause): void
  resume(): void
  end(): void
}
