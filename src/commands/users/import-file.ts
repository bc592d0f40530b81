import { join, parse } from 'node:path'
import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFirst, showFirst } from '../../cli/context/first-requests.ts'
import { usualWindow } from '../../config/quota.ts'
import { durationFlagFor, roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import type { KnownRow } from '../../users/adopt-rows.ts'
import type {
  Forecast,
  ImportEvent,
  Imported,
  ImportOptions,
  ImportSurroundings,
} from '../../users/import-run.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import { closedView, importForecastView, importView, summarizeForecast } from '../../view/users.ts'
import { BulkDisplay, surroundingsOf } from './bulk-display.ts'
import { describeFailed, describeUnknown, type ResolvingCommand } from './describe-outcomes.ts'

/** Grace period in ms, to wait for pending requests and to write the results. */
const grace = 60_000

type Optional = 'makePassword' | 'resolution' | 'place' | 'createdUsers'

/** The options of a command that imports a file of rows. */
export interface FileOptions
  extends Omit<ImportOptions, Optional | 'isDryRun' | 'maxWait'>,
    Partial<Pick<ImportOptions, Optional>> {
  /** Whether to skip the confirmation prompt. */
  yes: boolean
  /** The command line that resolves a row whose outcome is unknown; undefined if nothing is created. */
  resolvingCommand?: ResolvingCommand
}

/**
 * Imports a file of rows, with prompts, progress, and warnings, and shows the results.
 *
 * @param onKnown called with the rows for which something was sent, before the result is shown
 * @throws Failure `incomplete` if rows failed or have an unknown outcome; the reason of an early end
 */
export async function importFile(
  context: Context,
  options: FileOptions,
  onKnown?: (rows: Iterable<KnownRow>) => void,
): Promise<void> {
  context.demandNamedService()
  const { host, resolvePath } = context
  host.allowGrace(grace)
  host.keepHeapSmall()
  const { importRows } = await import('../../users/import-rows.ts')
  const { makePassword, resolution, place, createdUsers, results } = options
  const events = importRows(
    {
      ...options,
      ...{ makePassword, resolution, place, createdUsers },
      results: results === undefined ? undefined : resolvePath(results),
      isDryRun: context.dryRun,
      maxWait: context.options.max_wait.value,
    },
    importSurroundings(context),
  )
  const shown = new ShownImport(context, options)
  try {
    for await (const event of events) {
      if (event.type === 'known') onKnown?.(event.rows)
      else await shown.take(event)
    }
  } finally {
    shown.endProgress()
  }
  const { imported } = shown
  if (!imported) return
  await showImported(context, imported, options)
}

/** Reading `stdin` opens it. */
function importSurroundings(context: Context): ImportSurroundings {
  const { host, resolvePath } = context
  return {
    ...surroundingsOf(context, journalServiceOf(context)),
    resolvePath,
    untilEnded: () => host.untilEnded(),
    get stdin() {
      return host.stdin
    },
  }
}

/** The prompts and the progress of an import. */
class ShownImport {
  /** The result, after the last event. */
  imported: Imported | undefined
  readonly #context: Context
  readonly #options: FileOptions
  readonly #display: BulkDisplay

  constructor(context: Context, options: FileOptions) {
    this.#context = context
    this.#display = new BulkDisplay(context, 'row')
    this.#options = options
  }

  async take(event: Exclude<ImportEvent, { type: 'known' }>): Promise<void> {
    const { output } = this.#context
    switch (event.type) {
      case 'warning':
        return output.warn(event.text)
      case 'no_password':
        return output.warn(
          `${countOf(event.users, 'new user')} without a password. If the service requires one, use --generate-passwords --results FILE`,
        )
      case 'created_before':
        return output.warn(
          `${event.users === 1 ? '1 email in the file belongs to a user that was' : `${groupDigits(event.users)} emails in the file belong to users that were`} created from this machine before. Such rows create no user, and their names and metadata are not sent. To create the users again, use --allow-duplicates`,
        )
      case 'planned':
        return showPlanned(this.#context, event)
      case 'forecast':
        return this.#confirm(event.forecast)
      case 'end':
        this.imported = event.imported
        return
      default:
        this.#display.take(event)
    }
  }

  endProgress(): void {
    this.#display.end()
  }

  async #confirm(forecast: Forecast): Promise<void> {
    const { output, prompter } = this.#context
    const { file, yes } = this.#options
    const service = this.#context.contextOwner().baseUrl ?? 'the embedded service'
    const outline = `${file === '-' ? 'stdin' : file}: ${summarizeForecast(forecast)}`
    output.notice(`${outline}.\n${describeForecast(this.#context, forecast, this.#options)}`)
    if (yes) return
    await prompter.confirm(`Send ${countOf(forecast.rows - forecast.done, 'row')} to ${service}?`)
  }
}

/** Shows the numbers of requests, and the first requests. In a table, TSV, or CSV, only the numbers are data. */
async function showPlanned(
  context: Context,
  { planned, first }: ImportEvent & { type: 'planned' },
): Promise<void> {
  const output = context.output.withoutFields()
  const { rows, done: already_done, steps, requests } = planned
  const { create: creates, update: updates, assign: assignments } = steps
  const counts = { rows, already_done, creates, updates, assignments, requests }
  const first_requests = describeFirst(context, first)
  if (output.isDocument) return output.show(importForecastView, { ...counts, first_requests })
  await output.show(importForecastView, counts)
  await showFirst(context, first_requests, requests)
}

/** @throws Failure, or what ended the run */
async function showImported(context: Context, imported: Imported, options: FileOptions): Promise<void> {
  const { output } = context
  const { counts, rows, remaining, requests, alreadyDone } = imported
  const { created, updated, failed, unknown } = counts
  const list = imported.unknownRows
  if (failed > 0) await output.warn(describeFailed(imported.failed, failed))
  if (unknown > 0)
    await output.warn(describeUnknown(imported.unknown, unknown, options.resolvingCommand, list))
  const files = {
    results: imported.resultsFailure ? undefined : options.results,
    failed_rows: imported.failedRows,
    unknown_rows: list,
  }
  await output.show(importView, {
    ...{ rows, created, updated, already_done: alreadyDone, failed, unknown },
    ...{ skipped: counts.skipped - remaining, remaining, requests },
    ...Object.fromEntries(Object.entries(files).filter(([, path]) => path !== undefined)),
  })
  const words = [
    ...(requests + remaining + failed + unknown === 0 ? ['Nothing was left to send.'] : []),
    // The results of earlier runs come from the journal.
    ...(alreadyDone > 0
      ? [
          `${countOf(alreadyDone, 'row')} ${alreadyDone === 1 ? 'was' : 'were'} done by earlier runs. chatctl did not check that the users still exist.`,
        ]
      : []),
  ]
  if (words.length > 0) output.notice(words.join(' '))
  throwWhatIsLeft(context, imported, options)
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
    hint: `Fix ${rows}, and run: ${correctedCommand(context, options, failedRows)}`,
  })
}

/** The command that resumes. With --restart, it would start again. */
function sameCommand({ restart }: FileOptions): string {
  return restart ? 'the same command without --restart' : 'the same command'
}

function correctedCommand(context: Context, { kind, makePassword }: FileOptions, path: string): string {
  if (kind !== 'users') return commandFor(context, 'users', 'permissions', 'assign', '--file', path)
  const { dir, name } = parse(path)
  const passwords = makePassword
    ? ['--generate-passwords', '--results', join(dir, `${name}.passwords.csv`)]
    : []
  return commandFor(context, 'users', 'import', path, ...passwords)
}

/** The quota, and the estimated duration. */
function describeForecast(
  { options }: Context,
  { quota, duration, requests }: Forecast,
  file: FileOptions,
): string {
  const about = `about ${roundDuration(Math.max(1000, duration))}, ${file.concurrency} at a time`
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
  const maxWait = options.max_wait.value
  // The run will stop at the limit of --max-wait.
  const stop = `\nThe run stops if it must wait longer than --max-wait ${durationFlagFor(maxWait)}. To resume it later, run ${sameCommand(file)}. To let it wait, use --max-wait ${durationFlagFor(pause)}.`
  return `Quota: ${known.join(', ')}. The import takes ${about}.${pause > maxWait ? stop : ''}`
}

/** Address of the service, as journals name it. */
function journalServiceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? `local ${context.directories.data}`
}

/**
 * Closes the unfinished imports of a file, and shows how far they were.
 *
 * @throws Failure `refused` if there is none
 */
export async function closeImport(
  context: Context,
  { file, kind }: { file: string; kind: 'users' | 'assignments' },
): Promise<void> {
  context.demandNamedService()
  const service = journalServiceOf(context)
  const { closeImports } = await import('../../bulk/journal/open-journal.ts')
  const closed = await closeImports(context.directories, {
    file: file === '-' ? file : context.resolvePath(file),
    kind,
    service,
  })
  if (closed.length === 0) {
    throw new Failure('refused', `No unfinished import of ${file} to ${service}`, {
      hint: 'To list unfinished imports, run: chatctl doctor',
    })
  }
  await context.output.show(
    closedView,
    closed.map(({ file, rows, tried: sent, unknown }) => ({ file, service, rows, sent, unknown })),
  )
  context.output.notice(
    'Closed. chatctl remembers which rows it has sent. To resume, import the same file again.',
  )
}
