import { assertApart } from '../bulk/failed-rows.ts'
import {
  confirmForecast,
  type FileOptions,
  type FileReport,
  type Forecast,
  grace,
  lockInput,
} from '../bulk/file-run.ts'
import { type Input, readInput } from '../bulk/input/input.ts'
import { FaultList } from '../bulk/input/input-row.ts'
import { BulkRun } from '../bulk/send/bulk-run.ts'
import { ServiceHealth } from '../bulk/send/send-change.ts'
import type { Failure } from '../contract/failure.ts'
import { type ImportNote, outcomeOf } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import type { PlannedRequest } from '../view/dry-run.ts'
import { countOf } from '../view/format/quantities.ts'
import { summarizeForecast } from '../view/users.ts'
import { findPairs, readPairs, withoutRows } from './check-emails.ts'
import type { KnownUsers } from './known-users.ts'
import {
  chooseResolved,
  findFirstRequests,
  type PlannedWork,
  planWork,
  type ResolutionOptions,
  workOf,
} from './planned-work.ts'
import { type EarlierRuns, readRowStates } from './read-states.ts'
import { GeneratedPasswords } from './results/generated-passwords.ts'
import { type Report, reportRows, resultOf } from './results/report-rows.ts'
import { type CheckedInput, checkInput, type ValidRow } from './rows/check-input.ts'
import { CreatedIds } from './send/created-ids.ts'
import { type RowWork, sendRow } from './send/send-row.ts'
import { warnOfUnsent } from './warn-of-unsent.ts'

/** What is imported, and how. */
export interface ImportOptions extends ResolutionOptions, FileOptions {
  kind: ImportNote['import']
  /** Path of the results file. */
  results: string | undefined
  /** Generates a password for a user without one (default: the user is created without a password). */
  makePassword: (() => string) | undefined
  known: KnownUsers
  /** Whether users are created again that other commands on this machine have created. */
  allowDuplicates: boolean
  /** Whether users are created although the service gives no IDs. */
  withoutIds: boolean
}

export type ImportReport = Report &
  FileReport & {
    /** The valid rows. */
    valid: readonly ValidRow[]
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
  /** The results file, and its passwords. */
  passwords: GeneratedPasswords | undefined
  options: ImportOptions
  note: ImportNote
  /** IDs of the unfinished runs that this one continues. */
  continued: ReadonlySet<string>
}

/** Number of requests that a dry run shows. */
const shownRequests = 3

/** In ms, of a request, if none was made yet. */
const assumedLatency = 100

/**
 * Checks a file of rows, and sends the rows that earlier runs have not sent. If a run ends early, the same
 * call resumes it.
 * @throws Failure `refused` for faults in the file, `conflict` if another process imports the file
 */
export async function importUsers(run: Run, options: ImportOptions): Promise<ImportReport | ImportPlan> {
  const { file, format, results, makePassword } = options
  run.allowGrace(grace)
  // Also fails now rather than after the import if the file cannot be written.
  const passwords = results === undefined ? undefined : new GeneratedPasswords(results, makePassword)
  let unlockInput: (() => void) | undefined
  try {
    const input = await readInput(run, file, format)
    if (results !== undefined) assertApart(results, input)
    unlockInput = lockInput(run, input, 'importing')
    const checked = await check(run, input, options)
    const earlier = findEarlier(input, checked, options)
    const continued = readRowStates(checked.valid, earlier)
    if (!options.restart) await warnOfUnsent(run, checked, earlier)
    return await importChecked({ run, input, checked, passwords, options, note: earlier.note, continued })
  } finally {
    unlockInput?.()
    passwords?.close()
  }
}

function findEarlier(
  { path: file = 'stdin' }: Input,
  { rows, sha256 }: CheckedInput,
  { kind, restart, known, allowDuplicates }: ImportOptions,
): EarlierRuns {
  // The name of a pipe, such as a process substitution, soon names another one.
  const text = file === 'stdin' ? sha256 : undefined
  const find = () =>
    known.imports().find((one) => one.import === kind && one.file === file && one.text === text)
  const own = restart ? undefined : find()
  const note = { import: kind, file, text, rows: rows.length, restarted: restart }
  return { known, own, isOwnOnly: restart || allowDuplicates || own?.restarted === true, note }
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

async function importChecked(given: Import): Promise<ImportReport | ImportPlan> {
  const { run, input, passwords, options, note } = given
  const { makePassword, quota, concurrency, known } = options
  const resolved = chooseResolved(options, given.checked, input.name)
  const isGiven = resolved.resolution?.as === 'created'
  // A wrong ID on the command line is not a row to skip.
  const skipping = { name: input.name, skipInvalid: options.skipInvalid && !isGiven }
  const { wrong, unread } = findPairs(given.checked, resolved, known)
  let checked = await withoutRows(run, given.checked, wrong, skipping)
  const planned = planWork(checked, resolved, unread.length)
  const users = planned.withoutPassword
  if (users > 0 && makePassword === undefined) {
    await run.warn(
      `${countOf(users, 'new user')} without a password. If the service requires one, use --generate-passwords --results FILE`,
    )
  }
  if (run.dryRun) {
    const work = workOf(checked.valid, resolved)
    const all = Array.from(work, ({ checked, steps, id }) => ({ ...checked, steps, id }))
    const generatesPasswords = makePassword !== undefined
    return { planned, first: findFirstRequests(all, { generatesPasswords, limit: shownRequests }) }
  }
  const sentBefore = checked.valid.filter(({ state }) => state?.isCreator)
  const emailsBefore = new Set(sentBefore.map(({ row }) => row.email?.toLowerCase()))
  const lost = passwords?.open({
    emails: checked.valid.filter(lacksPassword).map(({ row }) => row.email ?? ''),
    mayHaveSent: (email) => emailsBefore.has(email),
    wasSent: (email) => known.sentFromFiles().has(email),
  })
  if (lost !== undefined) await run.warn(lost)
  const bulk = new BulkRun(run, { noun: 'row', quota, isCounted: true })
  const hasWork = planned.requests > 0 || resolved.rows.size > 0
  const client = await bulk.connect()
  // With a configured quota, the probe would use up one of its requests. A run with nothing to send must still fail
  // if the service is unreachable or refuses the key, but resolving rows of an earlier run may need no request.
  const isProbed = hasWork ? planned.requests > 0 && !quota : true
  const latency = (isProbed ? await bulk.probe(client, hasWork) : undefined) ?? assumedLatency
  if (planned.requests > planned.reads) {
    const duration = bulk.estimate(planned.requests, (concurrency * 1000) / latency)
    const forecast: Forecast<PlannedWork> = { ...planned, quota: bulk.throttle.known, duration }
    const outline = summarizeForecast(planned)
    await confirmForecast(run, forecast, options, { run: 'import', request: 'request', outline })
  }
  // The probe does not count.
  bulk.requests = 0
  let ended: unknown
  if (hasWork) {
    await run.note(note)
    const reading = await readPairs(run, unread, { client, throttle: bulk.throttle, concurrency })
    checked = await withoutRows(run, checked, reading.wrong, skipping)
    ended = reading.ended
    run.refuseClaimed(known.end())
    const { users } = client
    const ids = new CreatedIds(options.withoutIds, known)
    let claimed: Failure | undefined
    const sending = {
      ...{ users, ids, throttle: bulk.throttle, health: new ServiceHealth() },
      passwordOf: async ({ row: { email = '', password }, line }: ValidRow) =>
        password ?? passwords?.passwordOf({ email, line }),
      saw: run.saw,
      settle: async (email: string, as: 'skipped' | 'done') => {
        const { open = [] } = known.creationOf(email) ?? {}
        for (const { id, outcome } of as === 'done' ? open.slice(-1) : open) {
          const settled = as === 'done' ? { outcome: as } : { outcome, error: as }
          await run.note(outcomeOf(id, { email: email.toLowerCase() }, settled))
        }
      },
      onClaimed: (failure: Failure) => {
        claimed ??= failure
      },
    }
    const { rows, done, unknown } = planned
    // Assumes that the remaining rows need the average number of requests.
    const perRow = (planned.requests - planned.reads) / Math.max(1, rows - done)
    ended ??= await bulk.sendRows(
      workOf(checked.valid, resolved),
      { rows, concurrency, counts: { done, failed: 0, unknown }, perRow },
      async (work) => {
        const { checked, steps } = work
        try {
          await sendRow(sending, work)
        } finally {
          const { step, error = '' } = checked.state ?? {}
          if (steps[0] === 'create' && lacksPassword(checked))
            passwords?.settle(resultOf(checked), step === 'create' && error.startsWith('409:'))
        }
      },
      countedAs,
    )
    ended ??= claimed
  }
  // A run that sends nothing also ends what an earlier one has not said to be finished.
  const hasBegun = hasWork || given.continued.size > 0
  return report({ ...given, checked }, { requests: bulk.requests, ended, hasBegun })
}

function lacksPassword({ row }: ValidRow): boolean {
  return row.id === undefined && row.password === undefined
}

function countedAs({ checked }: RowWork) {
  const { status } = resultOf(checked)
  if (status === 'skipped') return undefined
  return status === 'created' || status === 'updated' ? 'done' : status
}

async function report(
  importing: Import,
  { requests, ended, hasBegun }: { requests: number; ended: unknown; hasBegun: boolean },
): Promise<ImportReport> {
  const { run, checked, options, note, continued } = importing
  const report = await reportRows({ ...importing, ...options, results: importing.passwords })
  const { counts, remaining, resultsFailure, warnings } = report
  for (const text of warnings) await run.warn(text)
  if (ended !== undefined && resultsFailure) await run.warn(resultsFailure.message)
  const isFinished = counts.unknown === 0 && remaining === 0 && !resultsFailure
  let failure: unknown = ended ?? resultsFailure
  if (hasBegun)
    await run
      .note({ ...note, ended: isFinished ? 'finished' : 'interrupted', runs: [...continued] })
      .catch((error: unknown) => {
        failure ??= error
      })
  return { ...report, valid: checked.valid, rows: checked.rows.length, requests, ended: failure }
}
