import { statSync } from 'node:fs'
import { assertApart, writeFailedList } from '../../bulk/failed-rows.ts'
import {
  confirmForecast,
  type FileOptions,
  type FileReport,
  grace,
  lockInput,
  type PlannedRows,
} from '../../bulk/file-run.ts'
import { type Input, readInput } from '../../bulk/input/input.ts'
import { BulkRun } from '../../bulk/send/bulk-run.ts'
import {
  affectsEveryRow,
  lostResponse,
  notSentAgain,
  rowError,
  type Sending,
  ServiceHealth,
  sendChange,
} from '../../bulk/send/send-change.ts'
import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
import { Ledger } from '../../ledger/ledger.ts'
import type { FileNote, RowNote } from '../../ledger/record.ts'
import type { Run } from '../../run/run.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import type { PlannedRequest } from '../../view/dry-run.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import {
  type CheckedRow,
  checkRows,
  type MessageTemplate,
  messageOf,
  messageRows,
  planRequest,
  requestOf,
  takeReply,
} from './message-rows.ts'
import { ResultsLog, type RowStatus } from './results-log.ts'
import { readRowNotes, rowStatus } from './row-states.ts'

export interface BatchOptions extends FileOptions {
  /** Called when the rows have been read, which may come from stdin. */
  readTemplate(): Promise<MessageTemplate>
  /** Path of the results file. */
  results: string
  /** Which rows to send again. */
  retried: ReadonlySet<RowStatus>
  isStreamed: boolean
}

/** The work that a dry run has planned, and its first request. */
export interface BatchPlan {
  ended?: undefined
  planned: PlannedRows
  first: readonly PlannedRequest[]
}

export interface BatchReport extends FileReport {
  counts: Record<RowStatus, number>
  /** The rows that failed, are unknown, or have a reply that is not whole. */
  problems: { line: number; status: Exclude<RowStatus, 'done' | 'skipped'>; error: string }[]
}

/** In ms, of a reply. */
const assumedLatency = 3_000

/** How long replies may take after an abort, in ms. */
const patience = 30_000

interface Batch {
  run: Run
  input: Input
  template: MessageTemplate
  rows: readonly CheckedRow[]
  /** Names the batch in the ledger, and its rows. Another content of the file, or another message, is another batch. */
  name: string
  rowsName: string
  options: BatchOptions
}

/**
 * Checks a file of rows, and sends a message for each row that earlier runs have not sent. If a run ends early, the
 * same call resumes it.
 * @throws Failure `refused` for faults in the file, or if the results file is not of this batch; `conflict` if another
 *   process sends the batch
 */
export async function sendRows(run: Run, options: BatchOptions): Promise<BatchReport | BatchPlan> {
  const { file, format, results } = options
  run.allowGrace(grace)
  const unlock = new DocumentFile(results).lock()
  let unlockInput: (() => void) | undefined
  try {
    const input = await readInput(run, file, format)
    assertApart(results, input)
    unlockInput = lockInput(run, input, 'sending')
    const template = await options.readTemplate()
    const { rows, faults } = await checkRows(input, template)
    const skipping = faults.settle(options.skipInvalid)
    if (skipping !== undefined) await run.warn(skipping)
    return await runBatch({ run, input, template, rows, options, name: nameOf(input, template) })
  } finally {
    unlockInput?.()
    unlock()
  }
}

function nameOf({ path = 'stdin', text }: Input, template: MessageTemplate): string {
  const sample = template.fill(new Map(template.columns.map((name) => [name, `{{${name}}}`])))
  const { hash } = process.getBuiltinModule('node:crypto')
  return hash('sha256', JSON.stringify([path, requestOf(sample), text])).slice(0, 24)
}

async function runBatch(given: Omit<Batch, 'rowsName'>): Promise<BatchReport | BatchPlan> {
  const { run, template, rows, name, options } = given
  const { restart, retried, concurrency, quota } = options
  const ledger = Ledger.of(run.directories, run.service)
  const files = ledger.notesWith<FileNote>('file', 'results').filter(({ batch }) => batch === name)
  const last = files.at(-1)
  demandOwnResults(last?.path, options)
  const rowsName = (!restart && last?.rows) || `${name}-${files.length}`
  const batch = { ...given, rowsName }
  let results = restart || run.dryRun ? undefined : new ResultsLog(options.results, false)
  if (!restart) readRowNotes(rows, ledger.notesWith<RowNote>('row', `${rowsName}:`, false), results)
  const statuses = rows.map(rowStatus)
  const numberOf = (status: RowStatus) => statuses.filter((one) => one === status).length
  const isSent = (status = 'failed' as RowStatus) => retried.has(status)
  const work = rows.filter((_, index) => isSent(statuses[index]))
  const done = numberOf('done') + (isSent('not_whole') ? 0 : numberOf('not_whole'))
  const planned = { rows: rows.length, done, requests: work.length }
  if (run.dryRun) return { planned, first: work.slice(0, 1).map((row) => planRequest(template, row)) }
  const bulk = new BulkRun(run, { noun: 'row', quota, isCounted: true, patience })
  let ended: unknown
  if (work.length > 0) {
    const client = await bulk.connect()
    // With a configured quota, the probe would use up one of its requests.
    if (!quota) await bulk.probe(client)
    const duration = bulk.estimate(work.length, (concurrency * 1000) / assumedLatency)
    const before = planned.done > 0 ? ` (${groupDigits(planned.done)} done before)` : ''
    const outline = `${countOf(rows.length, 'row')}${before}, ${countOf(work.length, 'message')}`
    const forecast = { ...planned, quota: bulk.throttle.known, duration }
    await confirmForecast(run, forecast, options, { run: 'batch', request: 'message', outline })
    // The probe does not count.
    bulk.requests = 0
    await run.note({ file: 'results', path: options.results, batch: name, rows: rowsName })
    results ??= new ResultsLog(options.results, true)
    const sending = { ...batch, results, client, throttle: bulk.throttle, health: new ServiceHealth() }
    const unknown = isSent('unknown') ? 0 : numberOf('unknown')
    ended = await bulk.sendRows(
      work,
      { rows: rows.length, concurrency, counts: { done: planned.done, failed: 0, unknown } },
      (row) => sendRow(sending, row),
      (row) => {
        const status = rowStatus(row)
        return status === 'skipped' ? undefined : status === 'not_whole' ? 'done' : status
      },
    )
  }
  results ??= new ResultsLog(options.results, false)
  return { ...(await report(batch, results, ended)), requests: bulk.requests }
}

/** The result of a row is on disk before the ledger has the outcome. @throws the error that should end the run */
async function sendRow(
  sending: Batch & Sending & { client: Client; results: ResultsLog },
  checked: CheckedRow,
): Promise<void> {
  const { index, line, row = {} } = checked
  const { run, rowsName, client, results, options, template, health } = sending
  const { endpoint, body } = requestOf(messageOf(template, row))
  const before = rowStatus(checked)
  const note = (did: RowNote['did'], error?: string) => {
    checked.state = { did: did ?? 'unknown', error: error ?? lostResponse, isCurrent: true }
    return run.note({ row: `${rowsName}:${index}`, did, error })
  }
  const unsent = (error?: string) =>
    before === 'unknown' ? note('unknown', error ?? notSentAgain) : note('unsent', error)
  const sent = await sendChange(sending, {
    recordIntent: () => note(undefined).catch((error: unknown) => unsent().then(() => Promise.reject(error))),
    retract: () => unsent(),
    request: async () => {
      if (before === 'not_whole' || before === 'failed') {
        // After a kill, the earlier result must not be taken for the next one.
        const error = { code: 'unknown', message: 'it is sent again' }
        await results.add({ index, line, status: 'unknown', error, row })
      }
      if (endpoint === 'createCompletion') return client.chat.complete(body)
      return options.isStreamed ? client.chat.collect(body) : client.chat.send(body)
    },
  })
  if ('ended' in sent) {
    await note('unknown', lostResponse)
    throw sent.ended
  }
  if ('response' in sent) {
    const { result, why } = takeReply(sent.response.body, body)
    await results.add({ index, line, status: why === undefined ? 'done' : 'not_whole', ...result, row })
    return note(why === undefined ? 'done' : 'contradicted', why)
  }
  const { failure } = sent
  const message = rowError(failure)
  if (failure.isOutcomeUnknown) await note('unknown', message)
  else if (affectsEveryRow(failure)) await unsent(failure.message)
  else {
    await results.add({ index, line, status: 'failed', error: { code: failure.code, message }, row })
    await note('refused', message)
  }
  health.failed(failure)
}

async function report(
  { run, input, template, rows }: Batch,
  results: ResultsLog,
  ended: unknown,
): Promise<Omit<BatchReport, 'requests'>> {
  const counts = { done: 0, not_whole: 0, failed: 0, unknown: 0, skipped: 0 }
  const problems: BatchReport['problems'] = []
  const ids = new Map<number, undefined>()
  const added: Promise<void>[] = []
  let [alreadyDone, remaining] = [0, 0]
  for (const checked of rows) {
    const { index, line, row, fault, state } = checked
    const status = rowStatus(checked)
    if (status === undefined) remaining++
    else if (status === 'done' && !state?.isCurrent) alreadyDone++
    else counts[status]++
    if (status === undefined || status === 'done') continue
    const message = fault ?? state?.error ?? lostResponse
    if (status === 'failed' || status === 'skipped') ids.set(index, undefined)
    if (status !== 'skipped') problems.push({ line, status, error: message })
    if (results.rowStatus(index) !== status)
      added.push(results.add({ index, line, status, error: { code: status, message }, row }))
  }
  let resultsFailure: Failure | undefined
  try {
    await Promise.all(added)
    results.close()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    resultsFailure = error
  }
  const failedRows = await writeFailedList({ input, run, shape: messageRows(template) }, ids)
  const outcome = { failedRows, resultsFailure, ended: ended ?? resultsFailure }
  return { rows: rows.length, counts, alreadyDone, invalid: counts.skipped, remaining, problems, ...outcome }
}

/** @throws Failure `refused` if the results file has other content; `usage` if the results are in another file */
function demandOwnResults(own: string | undefined, { results, restart }: BatchOptions): void {
  const found = statSync(results, { throwIfNoEntry: false })
  if (!/\.(jsonl|ndjson)$/i.test(results) || found?.isFile() === false)
    throw new Failure(
      'usage',
      `The results must be in a file with the file extension .jsonl, not in ${results}`,
    )
  if (own !== undefined && own !== results && !restart)
    throw new Failure('usage', `The results of this batch are in ${own}, not in ${results}`)
  if (own === results || !found?.size) return
  throw new Failure('refused', `${results} exists and is not of this batch, so it is not overwritten`, {
    hint: 'Another content of the file, another message, or another model is another batch. Choose another file with --results.',
  })
}
