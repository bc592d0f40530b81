import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { countOf } from '../view/count.ts'
import type { Imported, ImportOptions } from './import-options.ts'
import { ImportRun } from './import-run.ts'
import { type CheckedInput, checkInput } from './input/check-input.ts'
import { type Input, openInput } from './input/input.ts'
import type { InputRow, RowFault } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import type { JournalHeader } from './journal/journal-line.ts'
import { importsDirectory, openJournal, readRowStates } from './journal/open-journal.ts'
import { readSpent } from './journal/spent-quota.ts'
import { planWork } from './planned-work.ts'
import { guardPasswords } from './results/prepare-passwords.ts'
import { openResults } from './results/report-rows.ts'
import { rowListPlace } from './results/row-list-file.ts'
import type { RowKind } from './rows/user-row.ts'
import { readDecisions } from './unknown-row-decisions.ts'

/**
 * Checks a file of rows, and sends what is still to be sent of it. Whatever ends it, the same call
 * goes on from there.
 *
 * @returns undefined where it was only shown what would be sent
 * @throws Failure `refused` for faults of the file, `conflict` where it has changed since or another
 *   process imports it; what `confirm` throws
 */
export async function importRows(options: ImportOptions): Promise<Imported | undefined> {
  const { file, format, signal, directories, stdin, untilEnded, resolvePath, results, makePassword } = options
  // What could not be written in the end is better known now.
  if (results !== undefined) openResults(results, makePassword !== undefined)
  const input = await openInput(file, {
    format,
    signal,
    spoolDirectory: importsDirectory(directories),
    stdin,
    untilEnded,
    resolvePath,
  })
  try {
    if (results !== undefined) assertApart(results, input)
    const checked = await check(abortable(input, signal), options)
    return await importChecked(input, checked, options)
  } finally {
    input.close()
  }
}

/** @throws Failure `usage` where the results would replace the rows, or the rows that fail them */
function assertApart(results: string, input: Input): void {
  const path = existsSync(results)
    ? realpathSync(results)
    : join(realpathSync(dirname(results)), basename(results))
  if (path === input.path) {
    throw new Failure('usage', `Cannot write the results to ${results}: it is the input file`)
  }
  if (path === rowListPlace('failed', input) || path === rowListPlace('unknown', input)) {
    throw new Failure(
      'usage',
      `Cannot write the results to ${results}: chatctl writes failed or unknown rows there`,
      {
        advice: [{ code: 'other_results_file' }],
      },
    )
  }
}

/** The same input while nothing has been sent: what became of rows is read whatever has come. */
function abortable(input: Input, signal: AbortSignal): Input {
  return {
    ...input,
    async *read() {
      for await (const chunk of input.read()) {
        signal.throwIfAborted()
        yield chunk
      }
    },
  }
}

/** @throws Failure `refused` that lists the faults */
async function check(
  input: Input,
  { kind, skipInvalid, makePassword, warn, warnOfNoPassword }: ImportOptions,
): Promise<CheckedInput> {
  const faults = new FaultList(input.name)
  const checked = await checkInput(input, kind, (fault) => faults.add(fault))
  if (checked.labelledUpdates > 0) {
    const rows = countOf(checked.labelledUpdates, 'row')
    await warn(`An email cannot be changed. ${rows} with an id: the email is not sent`)
  }
  if (checked.withoutPassword > 0 && makePassword === undefined) {
    await warnOfNoPassword(checked.withoutPassword)
  }
  if (faults.count === 0) return checked
  if (!skipInvalid) throw faultsFailure(faults)
  await warn(`Skipping invalid rows (${countOf(faults.count, 'error')}):\n${faults.describe(10)}`)
  return checked
}

async function importChecked(
  input: Input,
  checked: CheckedInput,
  options: ImportOptions,
): Promise<Imported | undefined> {
  const { kind, service, quota, restart, results, makePassword, showPlannedWork, clock } = options
  const directory = importsDirectory(options.directories)
  const { sha256 } = checked
  const header: JournalHeader = {
    v: 1,
    type: 'import',
    kind,
    service,
    input: { name: input.path ?? input.name, form: input.format, sha256, rows: checked.rows },
    at: new Date(clock.now()).toISOString(),
  }
  const rows = () => validRows(input, kind, checked)
  if (showPlannedWork) {
    const states = await readRowStates({ directory, header, restart, rows })
    const decisions = await readDecisions(options, { input, kind, states })
    await showPlannedWork(await planWork(input, kind, { checked, states, decisions }))
    return undefined
  }
  const journal = await openJournal({ directory, header, restart, rows, clock })
  try {
    const decisions = await readDecisions(options, { input, kind, states: journal.rows })
    await guardPasswords(journal, { results, generates: makePassword !== undefined })
    const now = clock.now()
    const spent = quota && (await readSpent(directory, { service, window: quota.window, now }))
    return await new ImportRun(input, options, checked, journal, decisions, spent).go()
  } finally {
    await journal.close()
  }
}

async function* validRows(input: Input, kind: RowKind, { faulty }: CheckedInput): AsyncGenerator<InputRow> {
  for await (const batch of readRows(input, kind)) {
    for (const row of batch) if (!faulty.has(row.index)) yield row
  }
}

/** A file of a million rows may have as many faults: at most so many are given to a program, and described. */
const maxShown = 1000
const maxDescribed = 100

/** What is wrong with a file of rows, each at its place. */
class FaultList {
  count = 0
  /** Of the input. */
  readonly name: string
  readonly shown: RowFault[] = []

  constructor(name: string) {
    this.name = name
  }

  add(fault: RowFault): void {
    this.count++
    if (this.shown.length < maxShown) this.shown.push(fault)
  }

  /** A line for each of the first. */
  describe(limit = maxDescribed): string {
    const lines = this.shown
      .slice(0, limit)
      .map(({ line, column, message }) => `${this.name}:${line}:${column}: ${message}`)
    if (this.count > limit) lines.push(`and ${this.count - limit} more`)
    return lines.join('\n')
  }
}

function faultsFailure(faults: FaultList): Failure {
  const what = countOf(faults.count, 'error')
  return new Failure('refused', `${faults.name} has ${what}; nothing was sent:\n${faults.describe()}`, {
    advice: [{ code: 'skip_invalid', faults: faults.count }],
    details: { faults: faults.shown, count: faults.count },
  })
}
