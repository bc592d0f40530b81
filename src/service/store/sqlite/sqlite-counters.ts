import { systemClock } from '../../../system/clock.ts'
import {
  type Counters,
  type CountRequest,
  type CountResult,
  hoursAhead,
  minutesAhead,
  type Warn,
} from '../counters.ts'
import { isBusy, isDamaged } from '../storage-failure.ts'
import {
  isSuperseded,
  isUnknownFormat,
  type LimitsFile,
  limitsPath,
  newestNumber,
  openLimitsFile,
} from './limits-file.ts'

/** How long, in ms, to wait for a lock on the file. */
const lockTimeout = 5_000
/** How long, in ms, a file that could not be used is not tried again. */
const retryInterval = 1_000
/** How often, in ms, to check whether another process has created the next file. */
const checkInterval = 1_000

/**
 * Counts in a separate file in the data directory, opened with the first count. A problem with the file
 * does not stop the service: if it is damaged, the next one is created, and while none can be written (a
 * full disk, a lock of another program), this process counts separately.
 */
export class SqliteCounters implements Counters {
  readonly #directory: string
  readonly #warn: Warn
  readonly #memory = new MemoryCounters()
  #file: LimitsFile | undefined
  #number = 0
  #nextCheck = 0
  /** When to try the file again. */
  #retryAt: number | undefined

  constructor(directory: string, warn: Warn) {
    this.#directory = directory
    this.#warn = warn
  }

  async count(requests: readonly CountRequest[]): Promise<CountResult[]> {
    if (this.#retryAt !== undefined && systemClock.monotonic() < this.#retryAt)
      return this.#memory.count(requests)
    try {
      const taken = await this.#countWithRetry(requests)
      if (this.#retryAt !== undefined) {
        this.#retryAt = undefined
        this.#memory.clear()
      }
      return taken
    } catch (error) {
      if (this.#retryAt === undefined) {
        this.#warn(
          'cannot use the file of request counts: this process counts its requests separately',
          error,
        )
      }
      this.#retryAt = systemClock.monotonic() + retryInterval
      return this.#memory.count(requests)
    }
  }

  async close(): Promise<void> {
    this.#closeFile()
  }

  /** Waits for a lock itself, because SQLite would block the thread. */
  async #countWithRetry(requests: readonly CountRequest[]): Promise<CountResult[]> {
    const deadline = systemClock.monotonic() + lockTimeout
    for (;;) {
      try {
        return this.#countOrReplaceFile(requests)
      } catch (error) {
        if (!isBusy(error) || systemClock.monotonic() > deadline) throw error
      }
      await systemClock.sleep(1 + Math.random() * 4)
    }
  }

  #countOrReplaceFile(requests: readonly CountRequest[]): CountResult[] {
    try {
      return this.#open().count(requests)
    } catch (error) {
      if (!isDamaged(error) && !isUnknownFormat(error)) throw error
      const damaged = limitsPath(this.#directory, this.#number)
      this.#closeFile()
      this.#number += 1
      this.#warn(`${damaged} is damaged: the request counts start again at zero in a new file`, error)
      return this.#open().count(requests)
    }
  }

  #open(): LimitsFile {
    const now = systemClock.monotonic()
    if (this.#number === 0) this.#number = newestNumber(this.#directory)
    else if (now > this.#nextCheck && isSuperseded(this.#directory, this.#number)) {
      this.#closeFile()
      this.#number = newestNumber(this.#directory)
    }
    if (now > this.#nextCheck) this.#nextCheck = now + checkInterval
    this.#file ??= openLimitsFile(limitsPath(this.#directory, this.#number))
    return this.#file
  }

  #closeFile(): void {
    this.#file?.close()
    this.#file = undefined
  }
}

/** The counts of this process only, while those of all processes cannot be written. */
class MemoryCounters {
  readonly #rows = new Map<string, CountResult>()

  count(requests: readonly CountRequest[]): CountResult[] {
    return requests.map((request) => this.#countOne(request))
  }

  clear(): void {
    this.#rows.clear()
  }

  #countOne({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: CountRequest): CountResult {
    const row = this.#rows.get(keyId)
    const keepsHour = row !== undefined && row.hour >= hour && row.hour <= hour + hoursAhead
    const keepsMinute = row !== undefined && row.minute >= minute && row.minute <= minute + minutesAhead
    const hourUsed = keepsHour ? row.hourCount : 0
    const minuteUsed = keepsMinute ? row.minuteCount : 0
    const hourLeft = (hourlyLimit ?? Number.POSITIVE_INFINITY) - hourUsed
    const minuteLeft = (minuteLimit ?? Number.POSITIVE_INFINITY) - minuteUsed
    const granted = Math.max(0, Math.min(wanted, hourLeft, minuteLeft))
    const taken = {
      granted,
      hour: keepsHour ? row.hour : hour,
      hourCount: hourUsed + granted,
      minute: keepsMinute ? row.minute : minute,
      minuteCount: minuteUsed + granted,
    }
    this.#rows.set(keyId, taken)
    return taken
  }
}
