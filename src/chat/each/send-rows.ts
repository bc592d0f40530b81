import { statSync } from 'node:fs'
import { join } from 'node:path'
import { assertApart, writeFailedList } from '../../bulk/failed-rows.ts'
import {
  confirmForecast,
  type FileOptions,
  type FileReport,
  grace,
  journalService,
  type PlannedRows,
} from '../../bulk/file-run.ts'
import { type Input, readInput } from '../../bulk/input/input.ts'
import type { Journal } from '../../bulk/journal/journal.ts'
import { type JournalRequest, withJournal } from '../../bulk/journal/open-journal.ts'
import { BulkRun } from '../../bulk/send/bulk-run.ts'
import { type Sending, ServiceHealth } from '../../bulk/send/send-change.ts'
import { sendStep } from '../../bulk/send/send-step.ts'
import type { Client } from '../../client/client.ts'
import { Failure } from '../../contract/failure.ts'
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

/** A row is one request that must not be repeated. */
const step = 'create'

interface Batch {
  run: Run
  input: Input
  template: MessageTemplate
  rows: readonly CheckedRow[]
  journal: Journal
  options: BatchOptions
}

/**
 * Checks a file of rows, and sends a message for each row that earlier runs have not sent. If a run ends early, the
 * same call resumes it.
 *
 * @throws Failure `refused` for faults in the file, or if the results file is not of this batch; `conflict` if another
 *   process sends the batch
 */
export async function sendRows(run: Run, options: BatchOptions): Promise<BatchReport | BatchPlan> {
  const { file, format, results } = options
  run.allowGrace(grace)
  const unlock = new DocumentFile(results).lock()
  try {
    const input = await readInput(run, file, format)
    assertApart(results, input)
    const template = await options.readTemplate()
    const { rows, faults } = await checkRows(input, template)
    const skipping = faults.settle(options.skipInvalid)
    if (skipping !== undefined) await run.warn(skipping)
    const parts = { run, input, template, rows, options }
    return await withJournal(journalRequest(parts), (journal) => runBatch({ ...parts, journal }))
  } finally {
    unlock()
  }
}

/** Another content of the file, or another message, is another batch. */
function journalRequest({ run, input, template, rows }: Omit<Batch, 'journal'>): JournalRequest {
  const { path: file = 'stdin', text } = input
  const { clock, directories } = run
  const service = journalService(run)
  const sample = template.fill(new Map(template.columns.map((name) => [name, `{{${name}}}`])))
  const at = new Date(clock.now()).toISOString()
  return {
    directory: join(directories.state, 'batches'),
    header: { type: 'import', kind: 'messages', service, file, rows: rows.length, restarted: false, at },
    identity: process
      .getBuiltinModule('node:crypto')
      .hash('sha256', JSON.stringify([file, requestOf(sample), text])),
    restart: false,
    isDryRun: run.dryRun,
  }
}

async function runBatch(batch: Batch): Promise<BatchReport | BatchPlan> {
  const { run, template, rows, journal, options } = batch
  const { restart, retried, concurrency, quota } = options
  demandOwnResults(journal, options)
  if (restart) for (const key of [...journal.content.states.keys()]) journal.drop(key)
  let results = restart || run.dryRun ? undefined : reopenResults(batch)
  const statuses = rows.map((row) => statusOf(row, journal))
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
    journal.noteFile({ type: 'results', path: options.results })
    await journal.sync()
    results ??= new ResultsLog(options.results, true)
    const sending = { ...batch, results, client, throttle: bulk.throttle, health: new ServiceHealth() }
    const unknown = isSent('unknown') ? 0 : numberOf('unknown')
    ended = await bulk.sendRows(
      work,
      { rows: rows.length, concurrency, counts: { done: planned.done, failed: 0, unknown } },
      (row) => sendRow(sending, row),
      (row) => {
        const status = statusOf(row, journal)
        return status === 'skipped' ? undefined : status === 'not_whole' ? 'done' : status
      },
    )
  }
  results ??= new ResultsLog(options.results, false)
  return { ...(await report(batch, results, ended)), requests: bulk.requests }
}

/** Opens the results, and takes the outcomes from them that a kill kept from the journal. @throws Failure `storage` */
function reopenResults({ rows, journal, options }: Batch): ResultsLog {
  const results = new ResultsLog(options.results, false)
  for (const { index, line, key } of rows) {
    const written = results.statusOf(index)
    const phase = journal.content.states.get(key)?.phase
    if ((phase === 'took' && written !== 'done') || (phase === 'differs' && written !== 'not_whole')) {
      throw new Failure('storage', `${options.results} lacks the reply of line ${line}`, {
        hint: 'The file was changed or removed after chatctl wrote it.',
        advice: [{ code: 'restore_results' }],
      })
    }
    if (phase === 'took' || phase === 'differs') continue
    if (written === 'not_whole') journal.record({ key, step, did: 'differs' })
    else if (written === 'done') journal.record({ key, step, did: 'took' })
    else if (written === 'failed' && phase === 'intended') journal.record({ key, step, did: 'refused' })
  }
  return results
}

/** The result of a row is on disk before the journal has the outcome. @throws the error that should end the run */
async function sendRow(
  sending: Batch & Sending & { client: Client; results: ResultsLog },
  checked: CheckedRow,
): Promise<void> {
  const { key, index, line, row = {} } = checked
  const { client, results, journal, options, template } = sending
  const { endpoint, body } = requestOf(messageOf(template, row))
  const before = statusOf(checked, journal)
  await sendStep(sending, {
    ...{ key, step, isRetry: before === 'unknown' },
    request: async () => {
      if (before === 'not_whole') {
        // After a kill, the earlier reply must not be taken for the next one.
        const error = { code: 'unknown', message: 'it is sent again, because its reply is not whole' }
        await results.add({ index, line, status: 'unknown', error, row })
      }
      if (endpoint === 'createCompletion') return client.chat.complete(body)
      return options.isStreamed ? client.chat.collect(body) : client.chat.send(body)
    },
    confirm: async (response) => {
      const { result, why } = takeReply(response.body, body)
      await results.add({ index, line, status: why === undefined ? 'done' : 'not_whole', ...result, row })
      return why === undefined ? { did: 'took' } : { did: 'differs', error: why }
    },
    refuse: async ({ code }, message) => {
      await results.add({ index, line, status: 'failed', error: { code, message }, row })
      return { did: 'refused', error: message }
    },
  })
}

/** Undefined if the row was not sent. */
function statusOf({ key, fault }: CheckedRow, journal: Journal): RowStatus | undefined {
  if (fault !== undefined) return 'skipped'
  const phase = journal.content.states.get(key)?.phase
  if (phase === undefined || phase === 'unsent') return undefined
  if (phase === 'differs') return 'not_whole'
  return phase === 'took' ? 'done' : phase === 'refused' ? 'failed' : 'unknown'
}

async function report(
  { input, template, rows, journal }: Batch,
  results: ResultsLog,
  ended: unknown,
): Promise<Omit<BatchReport, 'requests'>> {
  const counts = { done: 0, not_whole: 0, failed: 0, unknown: 0, skipped: 0 }
  const problems: BatchReport['problems'] = []
  const ids = new Map<number, undefined>()
  const added: Promise<void>[] = []
  let [alreadyDone, remaining] = [0, 0]
  for (const checked of rows) {
    const { index, line, key, row, fault } = checked
    const status = statusOf(checked, journal)
    if (status === undefined) remaining++
    else if (status === 'done' && !journal.wasRequested(key)) alreadyDone++
    else counts[status]++
    if (status === undefined || status === 'done') continue
    const message =
      fault ?? journal.content.states.get(key)?.error ?? 'the run ended before a response arrived'
    if (status === 'failed' || status === 'skipped') ids.set(index, undefined)
    if (status !== 'skipped') problems.push({ line, status, error: message })
    if (results.statusOf(index) !== status)
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
  const failedRows = await writeFailedList({ input, journal, shape: messageRows(template) }, ids)
  const outcome = { failedRows, resultsFailure, ended: ended ?? resultsFailure }
  return { rows: rows.length, counts, alreadyDone, invalid: counts.skipped, remaining, problems, ...outcome }
}

/** @throws Failure `refused` if the results file has other content; `usage` if the results are in another file */
function demandOwnResults({ content }: Journal, { results, restart }: BatchOptions): void {
  const own = content.files.get('results')?.path
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
    hint: 'Another content of the file, another message, or another model is another batch.',
    advice: [{ code: 'other_results_file' }],
  })
}
