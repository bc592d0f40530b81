import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { countOf } from '../view/format/count.ts'
import type { Imported, ImportOptions } from './import-options.ts'
import { ImportRun } from './import-run.ts'
import { type CheckedInput, checkInput } from './input/check-input.ts'
import { describeRespelled } from './input/csv-rows.ts'
import { type Input, openInput } from './input/input.ts'
import type { InputRow } from './input/input-row.ts'
import { FaultList } from './input/input-row.ts'
import { readRows } from './input/read-rows.ts'
import { UniqueValues } from './input/unique-values.ts'
import { adoptCreated } from './journal/adopt-created.ts'
import type { JournalHeader, StepLine } from './journal/journal-line.ts'
import { importsDirectory, openJournal, readRowStates } from './journal/open-journal.ts'
import type { RowStates } from './journal/row-states.ts'
import { readSpentQuota } from './journal/spent-quota.ts'
import { findFirstRequests, planWork } from './planned-work.ts'
import { assertPasswordsKept } from './results/prepare-passwords.ts'
import { lockResults } from './results/results-file.ts'
import { numberedRowListPath } from './results/row-list-file.ts'
import type { RowKind } from './rows/imported-user.ts'
import { readResolutions } from './unknown-row-resolutions.ts'

/**
 * Checks a file of rows, and sends the rows that earlier runs have not sent. If a run ends early, the same
 * call resumes it.
 *
 * @returns undefined if the work was only shown
 * @throws Failure `refused` for faults in the file, `conflict` if rows that were sent have changed or another
 *   process imports the file; what `confirm` throws
 */
export async function importRows(options: ImportOptions): Promise<Imported | undefined> {
  const { file, format, signal, stdin, untilEnded, resolvePath, results } = options
  // Also fails now rather than after the import if the file cannot be written.
  const unlock = results === undefined ? undefined : lockResults(results)
  const claims = new UniqueValues()
  let input: Input | undefined
  try {
    input = await openInput(file, { format, signal, stdin, untilEnded, resolvePath })
    if (results !== undefined) assertApart(results, input)
    const checked = await check(abortable(input, signal), options, claims)
    return await importChecked(input, checked, options, claims)
  } finally {
    input?.close()
    unlock?.()
  }
}

/** @throws Failure `usage` if the results would replace the input or a file of failed or unknown rows */
function assertApart(results: string, input: Input): void {
  const path = existsSync(results)
    ? realpathSync(results)
    : join(realpathSync(dirname(results)), basename(results))
  if (path === input.path) {
    throw new Failure('usage', `Cannot write the results to ${results}: it is the input file`)
  }
  if (path === numberedRowListPath('failed', input) || path === numberedRowListPath('unknown', input)) {
    throw new Failure(
      'usage',
      `Cannot write the results to ${results}: chatctl writes failed or unknown rows there`,
      {
        advice: [{ code: 'other_results_file' }],
      },
    )
  }
}

/** The input for the check, which a signal ends. Later reads must finish, to report the results of the rows. */
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
  claims: UniqueValues,
): Promise<CheckedInput> {
  const faults = new FaultList()
  const checked = await checkInput(input, kind, (fault) => faults.add(input.name, fault), claims)
  if (checked.respelled.length > 0) await warn(describeRespelled(input.name, checked.respelled))
  if (checked.updatesWithEmail > 0) {
    const rows = countOf(checked.updatesWithEmail, 'row')
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
  claims: UniqueValues,
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
    ...(restart && { restarted: true }),
    at: new Date(clock.now()).toISOString(),
  }
  const rows = () => validRows(input, kind, checked)
  const request = { directory, header, restart, rows }
  const adopt = async (states: RowStates, take: (line: StepLine) => void): Promise<void> => {
    const isInFile = (email: string) => claims.findTaken({ email }).length > 0
    const count = await adoptCreated(states, request, { ...options, isInFile }, take)
    if (count > 0) await options.warnOfCreated(count)
  }
  if (showPlannedWork) {
    const states = await readRowStates(request)
    await adopt(states, (line) => states.apply(line, 0))
    const resolutions = await readResolutions(options, { input, kind, states })
    const known = { checked, states, resolutions }
    const generatesPasswords = makePassword !== undefined
    const first = await findFirstRequests(input, kind, { ...known, generatesPasswords, limit: shownRequests })
    await showPlannedWork(await planWork(input, kind, known), first)
    return undefined
  }
  const journal = await openJournal({ ...request, clock })
  let imported: Imported
  try {
    await adopt(journal.rows, (line) => journal.adopt(line))
    const resolutions = await readResolutions(options, { input, kind, states: journal.rows })
    await assertPasswordsKept(journal, { results, generates: makePassword !== undefined })
    const now = clock.now()
    const spent = quota && (await readSpentQuota(directory, { service, window: quota.window, now }))
    imported = await new ImportRun(input, options, checked, journal, resolutions, spent).run()
  } catch (error) {
    await journal.close()
    throw error
  }
  try {
    await journal.close()
  } catch (error) {
    // The run knows more than the journal.
    return { ...imported, ended: imported.ended ?? error }
  }
  return imported
}

async function* validRows(input: Input, kind: RowKind, { faulty }: CheckedInput): AsyncGenerator<InputRow> {
  for await (const batch of readRows(input, kind)) {
    for (const row of batch) if (!faulty.has(row.index)) yield row
  }
}

/** Number of requests that a dry run shows. */
const shownRequests = 3

function faultsFailure(faults: FaultList): Failure {
  const what = countOf(faults.count, 'error')
  return new Failure('refused', `Nothing was sent, because the input has ${what}:\n${faults.describe()}`, {
    advice: [{ code: 'skip_invalid', faults: faults.count }],
    details: { faults: faults.shown, count: faults.count },
  })
}
