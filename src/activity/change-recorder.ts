import { randomBytes } from 'node:crypto'
import type { RequestOutcome } from '../contract/failure.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import { type ActivityRun, type OutcomeLine, outcomeLine, type SentLine } from './activity-line.ts'
import { ActivityLog } from './activity-log.ts'
import { type ChangeRequest, type Endpoints, recordedChange } from './change.ts'

/** Maximum time in ms until an outcome is written. Usually the next change takes it along. */
const maxDelay = 50

/** Maximum number of rate-limited changes that are remembered. */
const maxLimited = 10_000

interface RecorderOptions {
  directories: Directories
  run: ActivityRun
  clock: Clock
  endpoints: Endpoints
  /** Called once if the log cannot be written. */
  onFailure(error: unknown): void
}

/**
 * Records the changes of a run: one line before a change is sent, and one with its outcome. Changes that begin
 * together are one write, with the outcomes before them. Nothing is flushed to disk. A change whose outcome is
 * missing has an unknown outcome.
 */
export class ChangeRecorder {
  readonly #options: RecorderOptions
  /** Distinguishes this run from all others. */
  readonly #runId = randomBytes(6).toString('hex')
  readonly #log: ActivityLog
  /** Lines that are not in the log yet. */
  #lines = ''
  #nextWrite: Promise<void> | undefined
  #outcomeTimer: NodeJS.Timeout | undefined
  #count = 0
  #hasFailed = false
  /** Changes that were rate limited, by what identifies them: the same one may be sent again. */
  readonly #limited = new Map<string, string>()

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#log = new ActivityLog(options.directories)
  }

  /**
   * Resolves when the change is in the log.
   *
   * @param before the settings as they were read before it
   * @returns records its outcome
   */
  async begin(request: ChangeRequest, before?: object): Promise<(outcome: RequestOutcome) => void> {
    const { run, clock, endpoints } = this.#options
    const change = recordedChange(request, endpoints, before)
    const key = (): string => JSON.stringify(change)
    const repeated = this.#limited.size === 0 ? undefined : this.#limited.get(key())
    const id = repeated ?? `${this.#runId}-${++this.#count}`
    if (repeated === undefined) {
      this.#add({ v: 1, id, at: isoNow(clock), ...run, service: request.service ?? run.service, ...change })
    } else {
      this.#limited.delete(key())
      this.#add(outcomeLine(id, { outcome: 'unknown' }))
    }
    await this.#writeSoon()
    return (outcome) => {
      this.#add(outcomeLine(id, outcome))
      if (outcome.status === 429 && this.#limited.size < maxLimited) this.#limited.set(key(), id)
      this.#outcomeTimer ??= setTimeout(() => this.#write(), maxDelay).unref()
    }
  }

  /** Writes what is left. */
  close(): void {
    this.#write()
    this.#log.close()
  }

  #add(line: SentLine | OutcomeLine): void {
    this.#lines += `${JSON.stringify(line)}\n`
  }

  /** After everything that is ready to run now, and may begin more changes. */
  #writeSoon(): Promise<void> {
    this.#nextWrite ??= new Promise((resolve) => {
      process.nextTick(() => {
        this.#nextWrite = undefined
        this.#write()
        resolve()
      })
    })
    return this.#nextWrite
  }

  #write(): void {
    clearTimeout(this.#outcomeTimer)
    this.#outcomeTimer = undefined
    const lines = this.#lines
    if (lines === '') return
    this.#lines = ''
    try {
      this.#log.append(lines)
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error)
      this.#hasFailed = true
    }
  }
}
