import { randomBytes } from 'node:crypto'
import type { RequestOutcome } from '../contract/request-outcome.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import type { Directories } from '../system/directories.ts'
import { type ActivityRun, outcomeLine, type SentLine } from './activity-line.ts'
import { ActivityLog } from './activity-log.ts'
import { type ChangeRequest, type Endpoints, recordedChange } from './change.ts'

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
 * Records the changes of a run: one line before a change is sent, and one with its outcome. The lines of one turn
 * of the event loop are one write. They are not flushed to disk. A change whose outcome is missing has an unknown
 * outcome.
 */
export class ChangeRecorder {
  readonly #options: RecorderOptions
  /** Distinguishes this run from all others. */
  readonly #runId = randomBytes(9).toString('base64url')
  readonly #log: ActivityLog
  #lines: string[] = []
  #turn: Promise<void> | undefined
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
   * @returns records its outcome
   */
  async begin(request: ChangeRequest): Promise<(outcome: RequestOutcome) => void> {
    const { run, clock, endpoints } = this.#options
    const change = recordedChange(request, endpoints)
    const key = JSON.stringify(change)
    const repeated = this.#limited.get(key)
    const id = repeated ?? `${this.#runId}-${++this.#count}`
    this.#limited.delete(key)
    if (repeated === undefined)
      this.#add({ v: 1, id, at: isoNow(clock), ...run, ...change } satisfies SentLine)
    else this.#add(outcomeLine(id, { outcome: 'unknown' }))
    await this.#turn
    return (outcome) => {
      this.#add(outcomeLine(id, outcome))
      if (outcome.status === 429 && this.#limited.size < maxLimited) this.#limited.set(key, id)
    }
  }

  /** Writes what is left. */
  close(): void {
    this.#write()
    this.#log.close()
  }

  #add(line: object): void {
    this.#lines.push(`${JSON.stringify(line)}\n`)
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#write()
        resolve()
      })
    })
  }

  #write(): void {
    this.#turn = undefined
    if (this.#lines.length === 0) return
    try {
      this.#log.append(this.#lines.splice(0).join(''))
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error)
      this.#hasFailed = true
    }
  }
}
