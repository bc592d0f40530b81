import { assertApart } from '../bulk/failed-rows.ts'
import {
  confirmForecast,
  type FileOptions,
  type FileReport,
  type Forecast,
  grace,
  journalService,
} from '../bulk/file-run.ts'
import { type Input, readInput } from '../bulk/input/input.ts'
import { FaultList } from '../bulk/input/input-row.ts'
import { type Journal, mayHaveChanged } from '../bulk/journal/journal.ts'
import { importsDirectory, type JournalRequest, withJournal } from '../bulk/journal/open-journal.ts'
import { BulkRun } from '../bulk/send/bulk-run.ts'
import { ServiceHealth } from '../bulk/send/send-change.ts'
import { Failure } from '../contract/failure.ts'
import type { Run } from '../run/run.ts'
import type { PlannedRequest } from '../view/dry-run.ts'
import { countOf, groupDigits } from '../view/format/quantities.ts'
import { summarizeForecast } from '../view/users.ts'
import { adoptCreated } from './adopt-created.ts'
import { type KnownRow, knownRows } from './adopt-rows.ts'
import type { KnownUsers } from './known-users.ts'
import {
  chooseResolved,
  findFirstRequests,
  type PlannedWork,
  planWork,
  type ResolutionOptions,
  workOf,
} from './planned-work.ts'
import { GeneratedPasswords } from './results/generated-passwords.ts'
import { type Report, reportRows, resultOf } from './results/report-rows.ts'
import { type CheckedInput, checkInput, type ValidRow } from './rows/check-input.ts'
import { emailOfKey, type RowKind } from './rows/imported-user.ts'
import { CreatedIds } from './send/created-ids.ts'
import { type RowWork, sendRow } from './send/send-row.ts'

/** What is imported, and how. */
export interface ImportOptions extends ResolutionOptions, FileOptions {
  kind: RowKind
  /** Path of the results file. */
  results: string | undefined
  /** Generates a password for a user without one (default: the user is created without a password). */
  makePassword: (() => string) | undefined
  /** Undefined to create users again that this machine has created. */
  known: KnownUsers | undefined
  /** Whether users are created although the service gives no IDs. */
  withoutIds: boolean
}

export type ImportReport = Report &
  FileReport & {
    /** The valid rows for which something was sent. */
    known: Iterable<KnownRow>
  }

/** The work that a dry run has planned, and its first requests. */
export interface ImportPlan {
  ended?: undefined
  planned: PlannedWork
  first: readonly PlannedRequest[]
}

interface Import {
  run: Run
  input: Input
  checked: CheckedInput
  journal: Journal
  /** The results file, and its passwords. */
  passwords: GeneratedPasswords | undefined
  options: ImportOptions
}

/** Number of requests that a dry run shows. */
const shownRequests = 3

/** In ms, of a request, if none was made yet. */
const assumedLatency = 100

/**
 * Checks a file of rows, and sends the rows that earlier runs have not sent. If a run ends early, the same
 * call resumes it.
 *
 * @throws Failure `refused` for faults in the file, `conflict` if rows that were sent have changed or another
 *   process imports the file
 */
export async function importUsers(run: Run, options: ImportOptions): Promise<ImportReport | ImportPlan> {
  const { file, format, results, restart, known, makePassword } = options
  run.allowGrace(grace)
  // Also fails now rather than after the import if the file cannot be written.
  const passwords = results === undefined ? undefined : new GeneratedPasswords(results, makePassword)
  try {
    const input = await readInput(run, file, format)
    if (results !== undefined) assertApart(results, input)
    const checked = await check(run, input, options)
    const request = journalRequest(run, input, checked, options)
    return await withJournal(request, async (journal): Promise<ImportReport | ImportPlan> => {
      dropRemoved(journal, checked, request)
      if (known && !restart && !journal.content.isRestarting) {
        const users = adoptCreated(journal, checked.valid, known)
        if (users > 0) await run.warn(createdBefore(users))
      }
      return importChecked({ run, input, checked, journal, passwords, options })
    })
  } finally {
    passwords?.close()
  }
}

/** @throws Failure `refused` that lists the faults */
async function check(run: Run, input: Input, { kind, skipInvalid }: ImportOptions): Promise<CheckedInput> {
  const faults = new FaultList()
  const checked = await checkInput(input, kind, (fault) => faults.add(input.name, fault))
  const { warnings, updatesWithEmail } = checked
  for (const warning of warnings) await run.warn(warning)
  if (updatesWithEmail > 0) {
    const rows = countOf(updatesWithEmail, 'row')
    await run.warn(`An email cannot be changed. ${rows} with an id: the email is not sent`)
  }
  const skipping = faults.settle(skipInvalid)
  if (skipping !== undefined) await run.warn(skipping)
  return checked
}

function createdBefore(users: number): string {
  const which =
    users === 1
      ? '1 email in the file belongs to a user that was'
      : `${groupDigits(users)} emails in the file belong to users that were`
  return `${which} created from this machine before. Such rows create no user, and their names and metadata are not sent. To create the users again, use --allow-duplicates`
}

async function importChecked(importing: Import): Promise<ImportReport | ImportPlan> {
  const { run, input, checked, journal, passwords, options } = importing
  const { makePassword, quota, concurrency } = options
  const { states } = journal.content
  const resolved = chooseResolved(options, checked, states, input.name)
  const planned = planWork(checked, states, resolved)
  const users = planned.withoutPassword
  if (users > 0 && makePassword === undefined) {
    await run.warn(
      `${countOf(users, 'new user')} without a password. If the service requires one, use --generate-passwords --results FILE`,
    )
  }
  if (run.dryRun) {
    const work = workOf(checked.valid, states, resolved)
    const all = Array.from(work, ({ checked, steps, id }) => ({ ...checked, steps, id }))
    const generatesPasswords = makePassword !== undefined
    return { planned, first: findFirstRequests(all, { generatesPasswords, limit: shownRequests }) }
  }
  const lost = passwords?.open({
    emails: checked.valid.filter(lacksPassword).map(({ row }) => row.email ?? ''),
    mayHaveSent: sentBefore(importing),
  })
  if (lost !== undefined) await run.warn(lost)
  const bulk = new BulkRun(run, { noun: 'row', quota, isCounted: true })
  const hasWork = planned.requests > 0 || resolved.rows.size > 0
  const client = await bulk.connect()
  // With a configured quota, the probe would use up one of its requests. A run with nothing to send must still fail
  // if the service is unreachable or refuses the key, but resolving rows of an earlier run may need no request.
  const isProbed = hasWork ? planned.requests > 0 && !quota : true
  const latency = (isProbed ? await bulk.probe(client, hasWork) : undefined) ?? assumedLatency
  if (planned.requests > 0) {
    const duration = bulk.estimate(planned.requests, (concurrency * 1000) / latency)
    const forecast: Forecast<PlannedWork> = { ...planned, quota: bulk.throttle.known, duration }
    const outline = summarizeForecast(planned)
    await confirmForecast(run, forecast, options, { run: 'import', request: 'request', outline })
  }
  // The probe does not count.
  bulk.requests = 0
  let ended: unknown
  if (hasWork) {
    const { users } = client
    const ids = new CreatedIds(options.withoutIds)
    const sending = { users, journal, ids, throttle: bulk.throttle, health: new ServiceHealth() }
    const { rows, done, unknown } = planned
    // Assumes that the remaining rows need the average number of requests.
    const perRow = planned.requests / Math.max(1, rows - done)
    ended = await bulk.sendRows(
      workOf(checked.valid, states, resolved),
      { rows, concurrency, counts: { done, failed: 0, unknown }, perRow },
      (row) => sendWithPassword(importing, row, () => sendRow(sending, row)),
      countedAs(journal),
    )
  }
  return report(importing, bulk.requests, ended)
}

/** The emails whose create an earlier run of this import may have sent. */
function sentBefore({ checked, journal }: Import): (email: string) => boolean {
  const { states } = journal.content
  const sent = checked.valid.filter(
    ({ key }) => states.get(key)?.isCreator && mayHaveChanged(states.get(key)),
  )
  const emails = new Set(sent.map(({ row }) => row.email?.toLowerCase()))
  return (email) => emails.has(email)
}

async function sendWithPassword(
  { journal, passwords }: Import,
  { checked, steps }: RowWork,
  send: () => Promise<void>,
): Promise<void> {
  const { row, key, line } = checked
  const { email = '' } = row
  const isCreate = steps[0] === 'create' && lacksPassword(checked)
  if (isCreate) row.password = await passwords?.passwordOf({ email, line })
  try {
    await send()
  } finally {
    const { states } = journal.content
    const { step, error = '' } = states.get(key) ?? {}
    if (isCreate) passwords?.settle(resultOf(checked, states), step === 'create' && /^409:/.test(error))
  }
}

function lacksPassword({ row }: ValidRow): boolean {
  return row.id === undefined && row.password === undefined
}

function countedAs({ content }: Journal) {
  return ({ checked }: RowWork) => {
    const { status } = resultOf(checked, content.states)
    if (status === 'skipped') return undefined
    return status === 'created' || status === 'updated' ? 'done' : status
  }
}

async function report(importing: Import, requests: number, ended: unknown): Promise<ImportReport> {
  const { run, journal, checked, options } = importing
  const report = await reportRows({ ...importing, ...options, results: importing.passwords })
  const { counts, remaining, resultsFailure, warnings } = report
  for (const text of warnings) await run.warn(text)
  if (ended !== undefined && resultsFailure) await run.warn(resultsFailure.message)
  const known = [...knownRows(checked.valid, journal)]
  if (counts.unknown === 0 && remaining === 0 && !resultsFailure) journal.end('finished')
  return { ...report, known, rows: checked.rows.length, requests, ended: ended ?? resultsFailure }
}

function journalRequest(
  run: Run,
  input: Input,
  { rows, sha256 }: CheckedInput,
  { kind, restart }: ImportOptions,
): JournalRequest {
  const header = {
    type: 'import' as const,
    kind,
    service: journalService(run),
    // The name of a pipe, such as a process substitution, soon names another one.
    file: input.path ?? 'stdin',
    rows: rows.length,
    restarted: restart,
    at: new Date(run.clock.now()).toISOString(),
  }
  return {
    directory: importsDirectory(run.directories),
    header,
    identity: input.path ?? sha256,
    restart,
    isDryRun: run.dryRun,
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
