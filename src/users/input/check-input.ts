import type { ExtraCheck } from '../rows/check-row.ts'
import { type RowKind, type Step, stepsOf } from '../rows/imported-user.ts'
import type { Input } from './input.ts'
import type { InputRow, RespelledColumn, RowFault } from './input-row.ts'
import { readRows } from './read-rows.ts'
import { RowSet } from './row-set.ts'
import type { UniqueValues } from './unique-values.ts'

export interface CheckedInput {
  rows: number
  /** Of the bytes, in hex. */
  sha256: string
  /** The rows with faults, including duplicates. */
  faulty: RowSet
  /** Numbers of requests that the rows without faults need, by kind. */
  steps: Record<Step, number>
  /** Rows with an id and an email; the email is not sent. */
  updatesWithEmail: number
  /** Rows that create a user without a password. */
  withoutPassword: number
  /** The columns of a CSV header that are recognized although their case differs. */
  respelled: readonly RespelledColumn[]
}

/**
 * Reads and checks the whole input.
 *
 * @param onFault called with each fault, in the order of lines
 * @param claims receives the emails and ids of the rows without faults
 * @throws Failure as `readRows`
 */
export async function checkInput(
  input: Input,
  kind: RowKind,
  onFault: (fault: RowFault) => void,
  claims: UniqueValues,
): Promise<CheckedInput> {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256')
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of input.read()) {
      hash.update(chunk)
      yield chunk
    }
  }
  const extraCheck: ExtraCheck = (row, { line, isFaulty }, report) => {
    const taken = claims.findTaken(row)
    for (const { field, line } of taken) report([field], `${field} is already used on line ${line}`)
    // The email of a row that is not sent may be in another row.
    if (!isFaulty && taken.length === 0) claims.claim(row, line)
  }
  const checked: CheckedInput = {
    rows: 0,
    sha256: '',
    faulty: new RowSet(),
    steps: { create: 0, update: 0, assign: 0 },
    updatesWithEmail: 0,
    withoutPassword: 0,
    respelled: [],
  }
  for await (const batch of readRows({ ...input, read }, kind, { extraCheck })) {
    for (const row of batch) {
      count(checked, row)
      for (const fault of row.faults) onFault(fault)
    }
  }
  return { ...checked, sha256: hash.digest('hex') }
}

function count(counts: CheckedInput, { index, row, faults, csv }: InputRow): void {
  counts.rows++
  if (csv) counts.respelled = csv.columns.respelled
  if (faults.length > 0 || !row) {
    counts.faulty.add(index)
    return
  }
  const steps = stepsOf(row)
  for (const step of steps) counts.steps[step]++
  if (row.id !== undefined && row.email !== undefined) counts.updatesWithEmail++
  if (steps.includes('create') && row.password === undefined) counts.withoutPassword++
}
