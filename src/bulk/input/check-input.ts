import type { JudgeMore } from '../rows/judge-row.ts'
import { type RowKind, type Step, stepsOf } from '../rows/user-row.ts'
import type { Input } from './input.ts'
import type { InputRow, RowFault } from './input-row.ts'
import { readRows } from './read-rows.ts'
import { RowSet } from './row-set.ts'
import { UniqueValues } from './unique-values.ts'

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
 * Reads the whole input before anything of it is used.
 *
 * @param onFault is told of each fault, by line
 * @throws Failure as `readRows` does
 */
export async function checkInput(
  input: Input,
  kind: RowKind,
  onFault: (fault: RowFault) => void,
): Promise<CheckedInput> {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256')
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of input.read()) {
      hash.update(chunk)
      yield chunk
    }
  }
  const claims = new UniqueValues()
  const judgeMore: JudgeMore = (row, { line, isFaulty }, say) => {
    const taken = claims.findTaken(row)
    for (const { field, line } of taken) say([field], `${field} is already used on line ${line}`)
    // A row that is not sent takes no email or id from one that is.
    if (!isFaulty && taken.length === 0) claims.claim(row, line)
  }
  const tally = emptyTally()
  try {
    for await (const batch of readRows({ ...input, read }, kind, judgeMore)) {
      for (const row of batch) {
        count(tally, row)
        for (const fault of row.faults) onFault(fault)
      }
    }
  } finally {
    claims.close()
  }
  return { ...tally, sha256: hash.digest('hex') }
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
