import { Failure } from '../contract/failure.ts'
import type { RowFault } from './input/input-row.ts'

/** A file of a million rows may have as many faults: so many are given to a program, and described. */
const most = { shown: 1000, described: 100 }

/** What is wrong with a file of rows, each at its place. */
export class FaultList {
  count = 0
  /** Of the input. */
  readonly name: string
  readonly shown: RowFault[] = []

  constructor(name: string) {
    this.name = name
  }

  add(fault: RowFault): void {
    this.count++
    if (this.shown.length < most.shown) this.shown.push(fault)
  }

  /** A line for each of the first. */
  describe(limit = most.described): string {
    const lines = this.shown
      .slice(0, limit)
      .map(({ line, column, message }) => `${this.name}:${line}:${column}: ${message}`)
    if (this.count > limit) lines.push(`and ${this.count - limit} more`)
    return lines.join('\n')
  }
}

export function faultsFailure(faults: FaultList): Failure {
  const what = faults.count === 1 ? 'a fault' : `${faults.count} faults`
  return new Failure('refused', `${faults.name} has ${what}; nothing was sent:\n${faults.describe()}`, {
    advice: [{ code: 'skip_invalid', faults: faults.count }],
    details: { faults: faults.shown, count: faults.count },
  })
}
