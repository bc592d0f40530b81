import { join, parse } from 'node:path'
import { commandFor } from '../../cli/command-line.ts'
import { connectWorkers } from '../../cli/context/connect-workers.ts'
import type { Context } from '../../cli/context/context.ts'
import { BulkProgress } from '../../cli/output/progress.ts'
import { usualWindow } from '../../config/quota.ts'
import { durationFlagFor, roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import type { Forecast, Imported, ImportOptions, RowCounts, RunStart } from '../../users/import-options.ts'
import type { UnresolvedRow } from '../../users/results/report-rows.ts'
import type { RowResult } from '../../users/results/row-result.ts'
import type { Pause } from '../../users/send/throttle.ts'
import { countOf, groupDigits } from '../../view/format/count.ts'
import { importView, summarizeForecast } from '../../view/users.ts'
import { journalServiceOf } from './close-import.ts'
import { describeUnknown, type ResolvingCommand, type UnknownRow } from './describe-unknown.ts'
import { showPlannedWork } from './show-planned-work.ts'

/** Grace period in ms, to wait for pending requests and to write the results. */
const grace = 60_000

/** The options of a command that imports a file of rows. */
export interface FileOptions
  extends Pick<
      ImportOptions,
      'file' | 'format' | 'kind' | 'skipInvalid' | 'restart' | 'concurrency' | 'quota' | 'results'
    >,
    Partial<Pick<ImportOptions, 'makePassword' | 'resolution' | 'place' | 'onRow' | 'createdUsers'>> {
  /** Whether to skip the confirmation prompt. */
  yes: boolean
  /** The command line that resolves a row whose outcome is unknown; undefined if nothing is created. */
  resolvingCommand?: ResolvingCommand
}

/**
 * Imports a file of rows, with prompts, progress, and warnings, and shows the results.
 *
 * @param importRows of the bulk layer, which the command has loaded
 * @throws Failure `incomplete` if rows failed or have an unknown outcome; the reason of an early end
 */
export async function importFile(
  context: Context,
  importRows: (options: ImportOptions) => Promise<Imported | undefined>,
  options: FileOptions,
): Promise<void> {
  context.demandNamedService()
  const { directories, host, resolvePath } = context
  host.allowGrace(grace)
  // With the speed of V8's defaults, a long YAML file takes half as much memory again.
  host.keepHeapSmall(options.format === 'yaml' || /\.ya?ml$/i.test(options.file) ? 'memory' : 'speed')
  const outside = outsideOf(context, options)
  let imported: Imported | undefined
  try {
    imported = await importRows({
      makePassword: undefined,
      resolution: undefined,
      place: undefined,
      onRow: undefined,
      createdUsers: undefined,
      ...options,
      ...outside,
      results: options.results === undefined ? undefined : resolvePath(options.results),
      directories,
      resolvePath,
      untilEnded: () => host.untilEnded(),
      get stdin() {
        return host.stdin
      },
      service: journalServiceOf(context),
      showPlannedWork: context.dryRun ? (...planned) => showPlannedWork(context, ...planned) : undefined,
      maxWait: context.options.max_wait.value,
      clock: host.clock,
      signal: context.signal,
    })
  } finally {
    outside.endProgress()
  }
  if (!imported) return
  await outside.tell(imported)
  await showImported(context, imported, imported.resultsFailure ? undefined : options.results)
  sayWhatWasNotChecked(context, imported)
  throwWhatIsLeft(context, imported, options)
}

/** The command that resumes. With --restart, it would start again. */
function sameCommand({ restart }: Pick<FileOptions, 'restart'>): string {
  return restart ? 'the same command without --restart' : 'the same command'
}

/** The results of earlier runs come from the journal and are not checked. */
function sayWhatWasNotChecked({ output }: Context, imported: Imported): void {
  const { requests, remaining, counts, alreadyDone } = imported
  const words = [
    ...(requests + remaining + counts.failed + counts.unknown === 0 ? ['Nothing was left to send.'] : []),
    ...(alreadyDone > 0
      ? [
          `${countOf(alreadyDone, 'row')} ${alreadyDone === 1 ? 'was' : 'were'} done by earlier runs. chatctl did not check ${alreadyDone === 1 ? 'that the user still exists' : 'that the users still exist'}.`,
        ]
      : []),
  ]
  if (words.length > 0) output.notice(words.join(' '))
}

async function showImported(
  { output }: Context,
  imported: Imported,
  results: string | undefined,
): Promise<void> {
  const { counts, rows, remaining, requests, alreadyDone: already_done } = imported
  const { failedRows: failed_rows, unknownRows: unknown_rows } = imported
  const { created, updated, failed, unknown } = counts
  const files = {
    ...(results !== undefined && { results }),
    ...(failed_rows !== undefined && { failed_rows }),
    ...(unknown_rows !== undefined && { unknown_rows }),
  }
  const skipped = counts.skipped - remaining
  await output.show(importView, {
    ...{ rows, created, updated, already_done, failed, unknown, skipped, remaining, requests },
    ...files,
  })
}

/** @throws Failure, or what ended the run */
function throwWhatIsLeft(context: Context, imported: Imported, options: FileOptions): void {
  const { counts, ended, remaining, failedRows, invalid } = imported
  const words = [
    ...(counts.failed > 0 ? [`${countOf(counts.failed, 'row')} failed`] : []),
    ...(counts.unknown > 0 ? [`the outcome of ${countOf(counts.unknown, 'row')} is unknown`] : []),
    ...(invalid > 0 ? [`${countOf(invalid, 'invalid row')} ${invalid === 1 ? 'was' : 'were'} skipped`] : []),
  ]
  if (ended !== undefined) {
    const left = `${countOf(remaining, 'row')} ${remaining === 1 ? 'is' : 'are'} left`
    const isStale = ended === imported.resultsFailure
    const aim = isStale ? 'The results file is not up to date. To write the results' : 'To resume'
    const resume = `${aim}, run ${sameCommand(options)}.`
    context.output.notice(`${[left, ...words].join(', ')}. ${resume}`)
    // Rows whose outcome is unknown were named with what settles them.
    throw ended instanceof Failure && ended.isOutcomeUnknown
      ? ended.reworded(ended.message, { hint: resume })
      : ended
  }
  if (words.length === 0) return
  if (failedRows === undefined) throw new Failure('incomplete', words.join(', and '))
  // The service refused these rows, or they are invalid, so the same command would fail again.
  const rows = counts.failed + invalid === 1 ? 'the row' : 'these rows'
  throw new Failure('incomplete', words.join(', and '), {
    hint: `Fix ${rows}, and run: ${mendedCommand(context, options, failedRows)}`,
  })
}

function mendedCommand(context: Context, { kind, makePassword }: FileOptions, path: string): string {
  if (kind !== 'users') return commandFor(context, 'users', 'permissions', 'assign', '--file', path)
  const { dir, name } = parse(path)
  const passwords = makePassword
    ? ['--generate-passwords', '--results', join(dir, `${name}.passwords.csv`)]
    : []
  return commandFor(context, 'users', 'import', path, ...passwords)
}

/** The client, the prompts, and the progress of an import. */
function outsideOf(context: Context, options: FileOptions) {
  const { file, yes, concurrency } = options
  const { output, prompter } = context
  const name = file === '-' ? 'stdin' : file
  const failedRows: RowResult[] = []
  const unknownRows: UnknownRow[] = []
  let progress: BulkProgress | undefined
  return {
    connect: (other: Parameters<ImportOptions['connect']>[0]) => connectWorkers(context, other),
    confirm: async (forecast: Forecast) => {
      const service = context.contextOwner().baseUrl ?? 'the embedded service'
      const outline = `${name}: ${summarizeForecast(forecast)}`
      const rows = countOf(forecast.rows - forecast.done, 'row')
      output.notice(`${outline}.\n${describeForecast(context, forecast, concurrency, sameCommand(options))}`)
      if (!yes) await prompter.confirm(`Send ${rows} to ${service}?`)
    },
    onBegin: ({ rows, counts, estimate }: RunStart) => {
      progress = new BulkProgress(output, { noun: 'row', total: rows, estimate })
      progress.goOn(counts)
      const sayWhy = () =>
        output.notice(
          'Waiting for the responses to the requests already sent. Press Ctrl-C again to stop at once.',
        )
      context.signal.addEventListener('abort', sayWhy, { once: true })
    },
    onProgress: (counts: RowCounts) => progress?.update(counts),
    onPause: (pause: Pause) => progress?.pause(pause),
    onResume: () => progress?.go(),
    endProgress: () => progress?.end(),
    onUnknown: (result: RowResult, unresolved: UnresolvedRow | undefined) =>
      void unknownRows.push({ ...result, unresolved }),
    onFailed: (result: RowResult) => void failedRows.push(result),
    tell: async ({ counts: { failed, unknown }, unknownRows: list }: Imported) => {
      if (failed > 0) await output.warn(describeFailed(failedRows, failed))
      const { resolvingCommand } = options
      if (unknown > 0) await output.warn(describeUnknown(unknownRows, unknown, resolvingCommand, list))
    },
    warn: (text: string) => output.warn(text),
    warnOfCreated: (users: number) =>
      output.warn(
        `${users === 1 ? '1 email in the file belongs to a user that was' : `${groupDigits(users)} emails in the file belong to users that were`} created from this machine before. Such rows create no user, and their names and metadata are not sent. To create the users again, use --allow-duplicates`,
      ),
    warnOfNoPassword: (users: number) =>
      output.warn(
        `${countOf(users, 'new user')} without a password. If the service requires one, use --generate-passwords --results FILE`,
      ),
  }
}

/** The quota, and the estimated duration. */
function describeForecast(
  { options }: Context,
  { quota, duration, requests }: Forecast,
  concurrency: number,
  again: string,
): string {
  const about = `about ${roundDuration(Math.max(1000, duration))}, ${concurrency} at a time`
  if (quota?.limit === undefined && quota?.remaining === undefined) {
    return `Quota: unknown (to set one, use --quota 100/h). Without a quota, the import takes ${about}.`
  }
  const { limit, remaining = limit ?? 0, window, reset } = quota
  const known = [
    ...(limit === undefined
      ? []
      : [`${countOf(limit, 'request')}${window ? ` per ${roundDuration(window)}` : ''}`]),
    ...(quota.remaining === undefined ? [] : [`${groupDigits(remaining)} left`]),
    ...(window || reset === undefined ? [] : [`more in ${roundDuration(reset)}`]),
  ]
  const isLonger = limit === undefined || requests - remaining > limit
  const pause = requests <= remaining ? 0 : Math.max(reset ?? 0, isLonger ? (window ?? usualWindow) : 0)
  const stop = pause > options.max_wait.value ? describeStop(options.max_wait.value, pause, again) : ''
  return `Quota: ${known.join(', ')}. The import takes ${about}.${stop}`
}

/** Warns that the run will stop at the limit of --max-wait. */
function describeStop(maxWait: number, pause: number, again: string): string {
  return `\nThe run stops if it must wait longer than --max-wait ${durationFlagFor(maxWait)}. To resume it later, run ${again}. To let it wait, use --max-wait ${durationFlagFor(pause)}.`
}

/** @param rows the first failed rows */
function describeFailed(rows: readonly RowResult[], count: number): string {
  const lines = rows.map(({ line, email, id, error }) => `Line ${line} (${email || id}) failed: ${error}`)
  if (count > rows.length) lines.push(`and ${count - rows.length} more; --results FILE lists them`)
  return lines.join('\n')
}
