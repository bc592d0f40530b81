import { assertApart } from '../bulk/failed-rows.ts'
import { type Input, readInput } from '../bulk/input/input.ts'
import { FaultList } from '../bulk/input/input-row.ts'
import { type Journal, mayHaveChanged } from '../bulk/journal/journal.ts'
import {
  importsDirectory,
  type JournalRequest,
  readOthers,
  withJournal,
} from '../bulk/journal/open-journal.ts'
import type { FileSurroundings } from '../bulk/send/bulk-run.ts'
import { Failure } from '../contract/failure.ts'
import { countOf } from '../view/format/quantities.ts'
import { adoptCreated } from './adopt-created.ts'
import { type ImportEvent, type ImportOptions, type ImportReport, ImportRun } from './import-run.ts'
import { chooseResolved, findFirstRequests, planWork, workOf } from './planned-work.ts'
import { lockResults, openPasswords } from './results/results-file.ts'
import { type CheckedInput, checkInput } from './rows/check-input.ts'
import { emailOfKey } from './rows/imported-user.ts'

/** Number of requests that a dry run shows. */
const shownRequests = 3

/**
 * Checks a file of rows, and sends the rows that earlier runs have not sent. If a run ends early, the same
 * call resumes it.
 *
 * @throws Failure `refused` for faults in the file, `conflict` if rows that were sent have changed or another
 *   process imports the file
 */
export async function* importRows(
  options: ImportOptions,
  around: FileSurroundings,
): AsyncGenerator<ImportEvent> {
  const { file, format, results } = options
  // Also fails now rather than after the import if the file cannot be written.
  const unlock = results === undefined ? undefined : lockResults(results)
  try {
    const input = await readInput(file, { ...around, format })
    if (results !== undefined) assertApart(results, input)
    const checked = yield* check(input, options)
    const report = yield* importChecked(input, checked, options, around)
    if (report) yield { type: 'end', report }
  } finally {
    unlock?.()
  }
}

/** @throws Failure `refused` that lists the faults */
async function* check(
  input: Input,
  { kind, skipInvalid }: ImportOptions,
): AsyncGenerator<ImportEvent, CheckedInput> {
  const faults = new FaultList()
  const checked = await checkInput(input, kind, (fault) => faults.add(input.name, fault))
  const { respelled, updatesWithEmail } = checked
  if (respelled !== undefined) yield { type: 'warning', text: respelled }
  if (updatesWithEmail > 0) {
    const rows = countOf(updatesWithEmail, 'row')
    yield {
      type: 'warning',
      text: `An email cannot be changed. ${rows} with an id: the email is not sent`,
    }
  }
  const skipping = faults.settle(skipInvalid)
  if (skipping !== undefined) yield { type: 'warning', text: skipping }
  return checked
}

/** @returns undefined for a dry run */
async function* importChecked(
  input: Input,
  checked: CheckedInput,
  options: ImportOptions,
  around: FileSurroundings,
): AsyncGenerator<ImportEvent, ImportReport | undefined> {
  const { makePassword, isDryRun, restart, createdUsers } = options
  const request = journalRequest(input, checked, options, around)
  return yield* withJournal(request, async function* (journal): AsyncGenerator<
    ImportEvent,
    ImportReport | undefined
  > {
    dropRemoved(journal, checked, request)
    if (createdUsers && !restart && !journal.content.isRestarting) {
      const users = adoptCreated(journal, checked.valid, readOthers(request), createdUsers())
      if (users > 0) yield { type: 'created_before', users }
    }
    const { states } = journal.content
    const resolved = chooseResolved(options, checked, states, input.name)
    const planned = planWork(checked, states, resolved)
    const users = planned.withoutPassword
    if (users > 0 && makePassword === undefined) yield { type: 'no_password', users }
    if (isDryRun) {
      const generatesPasswords = makePassword !== undefined
      const work = workOf(checked.valid, states, resolved)
      const all = Array.from(work, ({ checked, steps, id }) => ({ ...checked, steps, id }))
      const first = findFirstRequests(all, { generatesPasswords, limit: shownRequests })
      yield { type: 'planned', planned, first }
      return undefined
    }
    const passwords = openPasswords(journal, options, checked)
    return yield* new ImportRun({ input, checked, journal, passwords, options, around }).run(
      planned,
      resolved,
    )
  })
}

function journalRequest(
  input: Input,
  { rows, sha256 }: CheckedInput,
  { kind, restart, isDryRun }: ImportOptions,
  { service, clock, directories }: FileSurroundings,
): JournalRequest {
  const header = {
    type: 'import' as const,
    kind,
    service,
    // The name of a pipe, such as a process substitution, soon names another one.
    file: input.path ?? 'stdin',
    rows: rows.length,
    restarted: restart,
    at: new Date(clock.now()).toISOString(),
  }
  return {
    directory: importsDirectory(directories),
    header,
    identity: input.path ?? sha256,
    restart,
    isDryRun,
  }
}

/**
 * Forgets the rows that are no longer in the file.
 *
 * @throws Failure `conflict` if one of them was sent, or may have been
 */
function dropRemoved(journal: Journal, { valid }: CheckedInput, { header }: JournalRequest): void {
  const { states } = journal.content
  const keys = new Set(valid.map(({ key }) => key))
  const removed = [...states].filter(([key]) => !keys.has(key))
  const lost = removed.filter(([, state]) => mayHaveChanged(state))
  const [first] = lost
  if (!first) {
    for (const [key] of removed) journal.drop(key)
    return
  }
  const nameOf = ([key, { id }]: (typeof lost)[number]) =>
    [emailOfKey(key), id === undefined ? '' : `user ${id}`].filter((name) => name !== '').join(', ')
  const isOne = lost.length === 1
  const which = `${countOf(lost.length, 'row')} that may have been sent ${isOne ? 'was' : 'were'} edited or removed`
  const message = `${header.file} has changed since it was imported at ${journal.content.header?.at}: ${which} (${isOne ? '' : 'the first is '}${nameOf(first)})`
  throw new Failure('conflict', message, {
    advice: [{ code: 'restore_rows' }],
    details: { rows: lost.slice(0, 1000).map(nameOf), count: lost.length },
  })
}
