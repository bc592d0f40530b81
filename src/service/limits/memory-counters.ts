import { type Ask, hoursAhead, minutesAhead, type Taken } from './counters.ts'

/** Counts of this process alone, for as long as those of all processes cannot be written. */
export class MemoryCounters {
  readonly #rows = new Map<string, Taken>()

  take(asks: readonly Ask[]): Taken[] {
    return asks.map((ask) => this.#takeOne(ask))
  }

  /** Forgets all counts. */
  clear(): void {
    this.#rows.clear()
  }

  #takeOne({ keyId, wanted, hour, minute, hourlyLimit, minuteLimit }: Ask): Taken {
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
