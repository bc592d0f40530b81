import type { JudgeMore } from '../rows/judge-row.ts'
import { type RowKind, type Step, stepsOf } from '../rows/user-row.ts'
import { DuplicateRound, Sightings, uniqueFields } from './duplicates.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import type { Input } from './input.ts'
import type { InputRow, RowFault } from './input-row.ts'
import { readRows } from './read-rows.ts'
import { RowLines } from './row-lines.ts'
import { RowSet } from './row-set.ts'

export interface CheckedInput {
  rows: number
  /** Of the bytes, in hexadecimal. */
  sha256: string
  /** The rows with faults, by index: duplicates too. */
  faulty: RowSet
  /** How many requests of each kind the rows without faults need. */
  steps: Record<Step, number>
  /** Rows with an id and an email, which cannot be changed. */
  labelledUpdates: number
  /** Users to be created for whom the file has no password. */
  withoutPassword: number
}

/**
 * Reads the whole input before anything of it is used: once where it is without fault, and again to
 * tell of faults in their order.
 *
 * @param onFault is told of each fault, by line
 * @param fingerprint of emails and ids
 * @throws Failure as `readRows` does
 */
export async function checkInput(
  input: Input,
  kind: RowKind,
  onFault: (fault: RowFault) => void,
  fingerprint: Fingerprint = fingerprintOf,
): Promise<CheckedInput> {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256')
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of input.read()) {
      hash.update(chunk)
      yield chunk
    }
  }
  const sightings = new Sightings(fingerprint)
  let tally = emptyTally()
  for await (const batch of readRows({ ...input, read }, kind)) {
    for (const row of batch) {
      count(tally, row)
      if (row.row) sightings.see(row.row)
    }
  }
  const sha256 = hash.digest('hex')
  if (tally.faulty.size > 0 || sightings.rounds > 0) tally = await tellFaults(input, kind, sightings, onFault)
  return { ...tally, sha256 }
}

/** A last reading tells all; before it there are others where there is too much to decide at once. */
async function tellFaults(
  input: Input,
  kind: RowKind,
  sightings: Sightings,
  onFault: (fault: RowFault) => void,
): Promise<Tally> {
  const decided = { email: new RowLines(), id: new RowLines() }
  const last = Math.max(sightings.rounds, 1) - 1
  for (let number = 0; ; number++) {
    const round = new DuplicateRound(sightings, number)
    const tally = emptyTally()
    const judgeMore: JudgeMore = (row, { index, line, isFaulty }, say) => {
      let isSent = !isFaulty
      for (const field of uniqueFields) {
        const text = row[field]
        const first =
          text === undefined ? undefined : (decided[field].get(index) ?? round.firstLine(field, text))
        if (first === undefined) continue
        isSent = false
        if (number < last) decided[field].set(index, first)
        else say([field], `${field} is that of line ${first} too`)
      }
      // A row that is not sent takes no email or id from one that is.
      if (isSent) round.claim(row, line)
    }
    for await (const batch of readRows(input, kind, judgeMore)) {
      if (number < last) continue
      for (const row of batch) {
        count(tally, row)
        for (const fault of row.faults) onFault(fault)
      }
    }
    if (number === last) return tally
  }
}

type Tally = Omit<CheckedInput, 'sha256'>

function emptyTally(): Tally {
  return {
    rows: 0,
    faulty: new RowSet(),
    steps: { create: 0, update: 0, assign: 0 },
    labelledUpdates: 0,
    withoutPassword: 0,
  }
}

function count(tally: Tally, { index, row, faults }: InputRow): void {
  tally.rows++
  if (faults.length > 0 || !row) {
    tally.faulty.add(index)
    return
  }
  const steps = stepsOf(row)
  for (const step of steps) tally.steps[step]++
  if (row.id !== undefined && row.email !== undefined) tally.labelledUpdates++
  if (steps.includes('create') && row.password === undefined) tally.withoutPassword++
}
