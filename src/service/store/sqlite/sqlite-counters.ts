import { setTimeout as sleep } from 'node:timers/promises'
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

/** How long, in ms, to try for a file that others hold. */
const lockTimeout = 5_000
/** How long, in ms, a file that could not be used is left alone. */
const retryInterval = 1_000
/** How often, in ms, to look whether another process has gone on to the next file. */
const lookInterval = 1_000

/**
 * Counts in a file of its own in the data folder, opened at the first ask. Limits do not stop the
 * service: where the file is damaged the next one is begun, and while none can be written (the
 * disk is full, another program holds it) this process counts by itself.
 */
export class SqliteCounters implements Counters {
  readonly #folder: string
  readonly #warn: Warn
  readonly #memory = new MemoryCounters()
  #file: LimitsFile | undefined
  #number = 0
  #lookAt = 0
  /** Until when the file is left alone. */
  #restsUntil: number | undefined

  constructor(directory: string, warn: Warn) {
    this.#folder = directory
    this.#warn = warn
  }

  async count(requests: readonly CountRequest[]): Promise<CountResult[]> {
    if (this.#restsUntil !== undefined && performance.now() < this.#restsUntil)
      return this.#memory.take(requests)
    try {
      const taken = await this.#takeWaiting(requests)
      if (this.#restsUntil !== undefined) {
        this.#restsUntil = undefined
        this.#memory.clear()
      }
      return taken
    } catch (error) {
      if (this.#restsUntil === undefined) {
        this.#warn(
          'cannot use the file of request counts: this process counts its requests separately',
          error,
        )
      }
      this.#restsUntil = performance.now() + retryInterval
      return this.#memory.take(requests)
    }
  }

  async close(): Promise<void> {
    this.#closeFile()
  }

  /** SQLite itself would wait by blocking the thread. */
  async #takeWaiting(requests: readonly CountRequest[]): Promise<CountResult[]> {
    const deadline = performance.now() + lockTimeout
    for (;;) {
      try {
        return this.#takeOrGoOn(requests)
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
      }
      await sleep(1 + Math.random() * 4)
    }
  }

  #takeOrGoOn(requests: readonly CountRequest[]): CountResult[] {
    try {
      return this.#open().count(requests)
    } catch (error) {
      if (!isDamaged(error) && !isUnknownFormat(error)) throw error
      const damaged = limitsPath(this.#folder, this.#number)
      this.#closeFile()
      this.#number += 1
      this.#warn(`${damaged} is damaged: the request counts start again at zero in a new file`, error)
      return this.#open().count(requests)
    }
  }

  #open(): LimitsFile {
    const now = performance.now()
    if (this.#number === 0) this.#number = newestNumber(this.#folder)
    else if (now > this.#lookAt && isSuperseded(this.#folder, this.#number)) {
      this.#closeFile()
      this.#number = newestNumber(this.#folder)
    }
    if (now > this.#lookAt) this.#lookAt = now + lookInterval
    this.#file ??= openLimitsFile(limitsPath(this.#folder, this.#number))
    return this.#file
  }

  #closeFile(): void {
    this.#file?.close()
    this.#file = undefined
  }
}

/** Counts of this process alone, for as long as those of all processes cannot be written. */
class MemoryCounters {
  readonly #rows = new Map<string, CountResult>()

  take(requests: readonly CountRequest[]): CountResult[] {
    return requests.map((request) => this.#takeOne(request))
  }

  /** Forgets all counts. */
  clear(): void {
    this.#rows.clear()
  }

  #takeOne({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: CountRequest): CountResult {
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
