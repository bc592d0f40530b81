import type { RowFault } from './input-row.ts'

/** A file may have a fault in each of a million rows: maximum numbers in `details` and in the message. */
const maxInDetails = 1000
const maxDescribed = 100

/** The faults of files: all counted, the first ones kept. */
export class FaultList {
  count = 0
  readonly shown: (RowFault & { file: string })[] = []

  /** @param file its name in errors */
  add(file: string, fault: RowFault): void {
    this.count++
    if (this.shown.length < maxInDetails) this.shown.push({ file, ...fault })
  }

  /** One line for each of the first faults. */
  describe(limit = maxDescribed): string {
    const lines = this.shown
      .slice(0, limit)
      .map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
    if (this.count > limit) lines.push(`and ${this.count - limit} more`)
    return lines.join('\n')
  }
}
